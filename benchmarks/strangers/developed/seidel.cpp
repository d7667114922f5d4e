#define DATA_TYPE double
static void kernel_seidel_2d(int tsteps, int n, DATA_TYPE* A) {
  for (int t = 0; t <= tsteps - 1; t++)
    for (int i = 1; i <= n - 2; i++)
      for (int j = 1; j <= n - 2; j++)
        A[i*n+j] = (A[(i-1)*n+j-1] + A[(i-1)*n+j] + A[(i-1)*n+j+1] + A[i*n+j-1] + A[i*n+j] + A[i*n+j+1] +
                    A[(i+1)*n+j-1] + A[(i+1)*n+j] + A[(i+1)*n+j+1]) / 9.0;
}
void seidel(int tsteps, int n, DATA_TYPE* A) { kernel_seidel_2d(tsteps, n, A); }
