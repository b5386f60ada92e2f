! ranks: 1
! skip-mpich: the words of error texts are each library's own
! MPI 5.0 section 9.4: the text of an error is the implementation's. Ours names the procedure and
! the argument as Fortran does: entries count from 1, handles are integers, large-count forms have
! no name of their own.
program error_names
#include "face_use.h"
  implicit none
#include "face_include.h"
  integer :: rank, size, failures = 0, e, x(4)
  HANDLE(MPI_Datatype) :: types(2), d
  HANDLE(MPI_Request) :: r(3)
  HANDLE(MPI_Comm) :: cart
  integer(MPI_ADDRESS_KIND) :: places(2)
  call start()
  call MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN, e)
  call MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN, e)
  x = 0
  call MPI_Send(x, 1, MPI_INTEGER, 99, 0, MPI_COMM_WORLD, e)
  call names('MPI_SEND', 'dest 99')
  call PMPI_Bcast(x, 1, MPI_INTEGER, 7, MPI_COMM_WORLD, e)
  call names('MPI_BCAST', 'root 7')
  call MPI_Cart_create(MPI_COMM_WORLD, -1, x, [.false.], .false., cart, e)
  call names('MPI_CART_CREATE', 'ndims is -1')
  r = MPI_REQUEST_NULL
#ifdef FACE_F08
  r(2)%MPI_VAL = 77777777
  call MPI_Send(x, -1_MPI_COUNT_KIND, MPI_INTEGER, 0, 0, MPI_COMM_WORLD, e)
  call names('MPI_SEND', 'count is -1')
  call MPI_Send(x(1:4:2), 2, MPI_DATATYPE_NULL, 0, 0, MPI_COMM_WORLD, e)
  call names('MPI_SEND', 'datatype is MPI_DATATYPE_NULL')
#else
  r(2) = 77777777
#endif
  call MPI_Waitall(3, r, MPI_STATUSES_IGNORE, e)
  call names('MPI_WAITALL', 'array_of_requests(2): the request 77777777')
  types = [MPI_INTEGER, MPI_DATATYPE_NULL]
  places = 0
  call MPI_Type_create_struct(2, [1, 1], places, types, d, e)
  call names('MPI_TYPE_CREATE_STRUCT', 'array_of_types(2)')
  call finish()
contains
  ! The last error is of this procedure, and says this.
  subroutine names(procedure, words)
    character(len=*), intent(in) :: procedure, words
    character(len=MPI_MAX_ERROR_STRING) :: text
    integer :: length, ignored
    call MPI_Error_string(e, text, length, ignored)
    CHECK(e /= MPI_SUCCESS .and. index(text(1:length), ': ' // procedure // ': ') /= 0)
    CHECK(index(text(1:length), words) /= 0)
    if (failures /= 0) print '(a)', text(1:length)
  end subroutine names
#include "check.h"
end program error_names
