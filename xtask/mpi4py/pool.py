"""MPIPoolExecutor without dynamic processes: mpiexec -n 4 python -m mpi4py.futures pool.py"""

from mpi4py.futures import MPIPoolExecutor


def square(number):
    return number * number


if __name__ == "__main__":
    with MPIPoolExecutor() as pool:
        workers = pool.num_workers
        squares = list(pool.map(square, range(200), chunksize=3))
        text = pool.submit(" ".join, ["a", "b"]).result()
        failed = pool.submit(square, "text").exception()
    correct = (
        workers == 3
        and squares == [number * number for number in range(200)]
        and text == "a b"
        and isinstance(failed, TypeError)
    )
    print(f"MPIPoolExecutor with {workers} workers:", "correct" if correct else "WRONG")
