// How often each of 256 values occurs.
void histogram(const int* values, int* counts, int n) {
  for (int b = 0; b < 256; ++b) counts[b] = 0;
  for (int i = 0; i < n; ++i) counts[values[i]] += 1;
}
