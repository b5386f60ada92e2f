/* MPI_Comm_c2f and the like for C code that still uses them, such as the crate rsmpi.
 *
 * The standard ABI of MPI 5.0 leaves these functions to the Fortran library. In C, MPI_Comm_toint and MPI_Comm_fromint
 * do the same, so the old names are written in terms of the new ones. These are macros and nothing else, so
 * the file may be put before any source by the compiler's option -include. */
#ifndef OXMPI_FORTRAN_HANDLES_H
#define OXMPI_FORTRAN_HANDLES_H

#define MPI_Comm_c2f(handle) MPI_Comm_toint(handle)
#define MPI_Comm_f2c(number) MPI_Comm_fromint(number)
#define MPI_Errhandler_c2f(handle) MPI_Errhandler_toint(handle)
#define MPI_Errhandler_f2c(number) MPI_Errhandler_fromint(number)
#define MPI_File_c2f(handle) MPI_File_toint(handle)
#define MPI_File_f2c(number) MPI_File_fromint(number)
#define MPI_Group_c2f(handle) MPI_Group_toint(handle)
#define MPI_Group_f2c(number) MPI_Group_fromint(number)
#define MPI_Info_c2f(handle) MPI_Info_toint(handle)
#define MPI_Info_f2c(number) MPI_Info_fromint(number)
#define MPI_Message_c2f(handle) MPI_Message_toint(handle)
#define MPI_Message_f2c(number) MPI_Message_fromint(number)
#define MPI_Op_c2f(handle) MPI_Op_toint(handle)
#define MPI_Op_f2c(number) MPI_Op_fromint(number)
#define MPI_Request_c2f(handle) MPI_Request_toint(handle)
#define MPI_Request_f2c(number) MPI_Request_fromint(number)
#define MPI_Session_c2f(handle) MPI_Session_toint(handle)
#define MPI_Session_f2c(number) MPI_Session_fromint(number)
#define MPI_Type_c2f(handle) MPI_Type_toint(handle)
#define MPI_Type_f2c(number) MPI_Type_fromint(number)
#define MPI_Win_c2f(handle) MPI_Win_toint(handle)
#define MPI_Win_f2c(number) MPI_Win_fromint(number)

#endif
