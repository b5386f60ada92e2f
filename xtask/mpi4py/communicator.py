"""MPICommExecutor: rank 0 gives work to the others: mpiexec -n 4 python communicator.py"""

from mpi4py import MPI
from mpi4py.futures import MPICommExecutor


def where(number):
    return number, MPI.COMM_WORLD.Get_rank()


with MPICommExecutor(MPI.COMM_WORLD, root=0) as executor:
    if executor is not None:
        answers = list(executor.map(where, range(100)))
        numbers = [number for number, _ in answers]
        ranks = {rank for _, rank in answers}
        correct = numbers == list(range(100)) and ranks <= {1, 2, 3}
        print("MPICommExecutor:", "correct" if correct else "WRONG")
