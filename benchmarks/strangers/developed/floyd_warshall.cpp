#include <algorithm>
void floyd_warshall(int n, float* path) {
  for (int k = 0; k < n; k++)
    for (int i = 0; i < n; i++)
      for (int j = 0; j < n; j++)
        path[i * n + j] = path[i * n + j] < path[i * n + k] + path[k * n + j]
                              ? path[i * n + j]
                              : path[i * n + k] + path[k * n + j];
}
