"""Every rank says hello, and rank 0 checks that it heard everybody: mpiexec -n 4 python hello.py"""

import sys

from mpi4py import MPI

world = MPI.COMM_WORLD
names = world.gather((world.Get_rank(), MPI.Get_processor_name()), root=0)
if world.Get_rank() == 0:
    expected = int(sys.argv[1])
    correct = [rank for rank, _ in names] == list(range(expected))
    hosts = sorted({name for _, name in names})
    print(f"hello from {len(names)} ranks on {hosts}:", "correct" if correct else "WRONG")
