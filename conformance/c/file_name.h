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

#endif
