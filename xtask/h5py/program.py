"""All ranks write one HDF5 file: collectively and alone, in chunks and in a row; then they read it.

What is read is compared with what the other ranks must have written.
"""

import sys

import h5py
import numpy
from mpi4py import MPI

world = MPI.COMM_WORLD
rank, size = world.rank, world.size
rows, columns = 64, 1000


def values(owner):
    """What a rank writes."""
    return numpy.arange(rows * columns, dtype="f8").reshape(rows, columns) * (owner + 1)


assert h5py.get_config().mpi, "h5py was built without MPI"
with h5py.File(sys.argv[1], "w", driver="mpio", comm=world) as file:
    file.atomic = False
    blocks = file.create_dataset("blocks", (size * rows, columns), dtype="f8")
    stripes = file.create_dataset("stripes", (rows, columns * size), dtype="f8", chunks=(16, 250))
    words = file.create_dataset("words", (size,), dtype="S16")
    group = file.create_group("about")
    group.attrs["ranks"] = size
    blocks[rank * rows : (rank + 1) * rows] = values(rank)
    with stripes.collective:
        # Every rank has every size-th column, so the pieces are single numbers.
        stripes[:, rank::size] = values(rank)
    words[rank] = f"rank {rank}".encode()
    file.flush()

other = (rank + 1) % size
with h5py.File(sys.argv[1], "r", driver="mpio", comm=world) as file:
    assert file["about"].attrs["ranks"] == size
    with file["blocks"].collective:
        got = file["blocks"][other * rows : (other + 1) * rows]
    assert (got == values(other)).all()
    with file["stripes"].collective:
        got = file["stripes"][:, other::size]
    assert (got == values(other)).all()
    assert list(file["words"]) == [f"rank {each}".encode() for each in range(size)]
world.barrier()
if rank == 0:
    # A reader without MPI sees the same.
    with h5py.File(sys.argv[1], "r") as file:
        assert (file["stripes"][:, size - 1 :: size] == values(size - 1)).all()
    print("correct")
