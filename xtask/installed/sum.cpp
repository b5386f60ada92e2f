// The C program again, by a C++ compiler.
#include <iostream>
#include <mpi.h>
#include <vector>

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    int rank, size;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    std::vector<int> all(size);
    MPI_Allgather(&rank, 1, MPI_INT, all.data(), 1, MPI_INT, MPI_COMM_WORLD);
    bool correct = true;
    for (int i = 0; i < size; i++)
        correct = correct && all[i] == i;
    if (rank == 0)
        std::cout << size << " ranks from C++: " << (correct ? "correct" : "WRONG") << std::endl;
    MPI_Finalize();
    return 0;
}
