/* A name for the file of a program, which no other run of it has: programs run side by side. */
#ifndef CONFORMANCE_FILE_NAME_H
#define CONFORMANCE_FILE_NAME_H

#include "check.h"
#include <unistd.h>

static inline void file_name(char *name, size_t length, const char *topic)
{
    int pid = (int)getpid();
    MPI_Bcast(&pid, 1, MPI_INT, 0, MPI_COMM_WORLD);
    snprintf(name, length, "conformance-%s-%d-%d.dat", topic, world_size, pid);
}

/* A new file of all ranks, which goes when it is closed. */
static inline MPI_File new_file(const char *topic)
{
    char name[64];
    MPI_File file = MPI_FILE_NULL;
    int mode = MPI_MODE_CREATE | MPI_MODE_RDWR | MPI_MODE_DELETE_ON_CLOSE;
    file_name(name, sizeof name, topic);
    CHECK_CALL(MPI_File_open(MPI_COMM_WORLD, name, mode, MPI_INFO_NULL, &file));
    return file;
}

/* What one rank has written, others read after this (MPI 5.0 section 14.6.1). */
static inline void sync_all(MPI_File file)
{
    CHECK_CALL(MPI_File_sync(file));
    MPI_Barrier(MPI_COMM_WORLD);
    CHECK_CALL(MPI_File_sync(file));
}

/* Sets a view of plain bytes from the beginning. */
static inline void view_bytes(MPI_File file)
{
    CHECK_CALL(MPI_File_set_view(file, 0, MPI_BYTE, MPI_BYTE, "native", MPI_INFO_NULL));
}

/* The number of elements that a status counts. */
static inline int count_of(MPI_Status *status, MPI_Datatype type)
{
    int count = -1;
    MPI_Get_count(status, type, &count);
    return count;
}

#endif
