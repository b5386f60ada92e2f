#ifdef FACE_MPIF
  include 'mpif.h'
#endif
