! The Fortran interfaces: mpif.h, the module mpi (-DMODULE), the module mpi_f08
! (-DF08). Each rank receives what it computes itself.
program check
#if defined(F08)
  use mpi_f08
#elif defined(MODULE)
  use mpi
#endif
  implicit none
#if !defined(F08) && !defined(MODULE)
  include 'mpif.h'
#endif
  integer, parameter :: most = 16
  integer :: rank, ranks, errors, all_errors, i, k, provided
  integer :: out(most), in(most), counts(most), places(most)
  double precision :: sums(3), parts(3)
#if defined(F08)
  type(MPI_Request) :: request
  type(MPI_Comm) :: comm
  type(MPI_Datatype) :: types(most)
#else
  integer :: request, comm, types(most), error
#endif
  errors = 0
#if defined(F08)
#define LAST )
#else
#define LAST , error)
#endif
  call MPI_Init_thread(MPI_THREAD_FUNNELED, provided LAST
  call MPI_Comm_dup(MPI_COMM_WORLD, comm LAST
  call MPI_Comm_rank(comm, rank LAST
  call MPI_Comm_size(comm, ranks LAST
  do k = 1, 5
    parts = [1d0, 2d0 * rank, 3d0 * k]
    call MPI_Allreduce(parts, sums, 3, MPI_DOUBLE_PRECISION, MPI_SUM, comm LAST
    if (any(abs(sums - [1d0 * ranks, 1d0 * ranks * (ranks - 1), &
            3d0 * k * ranks]) > 1d-9)) errors = errors + 1
    call MPI_Allreduce(MPI_IN_PLACE, parts, 3, MPI_DOUBLE_PRECISION, MPI_SUM, &
                       comm LAST
    if (any(parts /= sums)) errors = errors + 1
    out = rank * 100 + [(i, i = 1, most)]
    in = -1
    call MPI_Alltoall(out, 1, MPI_INTEGER, in, 1, MPI_INTEGER, comm LAST
    do i = 1, ranks
      if (in(i) /= (i - 1) * 100 + rank + 1) errors = errors + 1
    end do
    counts = 1
    places = [(i - 1, i = 1, most)]
    in = -1
    call MPI_Gatherv(out, 1, MPI_INTEGER, in, counts, places, MPI_INTEGER, 0, &
                     comm LAST
    do i = 1, ranks
      if (rank == 0 .and. in(i) /= (i - 1) * 100 + 1) errors = errors + 1
    end do
    types = MPI_INTEGER
    places = 4 * places
    in = -1
    call MPI_Alltoallw(out, counts, places, types, in, counts, places, types, &
                       comm LAST
    do i = 1, ranks
      if (in(i) /= (i - 1) * 100 + rank + 1) errors = errors + 1
    end do
    in = rank + k
    call MPI_Ibcast(in, most, MPI_INTEGER, ranks - 1, comm, request LAST
    call MPI_Wait(request, MPI_STATUS_IGNORE LAST
    if (any(in /= ranks - 1 + k)) errors = errors + 1
    call MPI_Barrier(comm LAST
  end do
  call MPI_Reduce(errors, all_errors, 1, MPI_INTEGER, MPI_SUM, 0, comm LAST
  if (rank == 0 .and. all_errors == 0) print '(a)', 'ok'
#if defined(F08)
  call MPI_Finalize()
#else
  call MPI_Finalize(error)
#endif
end program
