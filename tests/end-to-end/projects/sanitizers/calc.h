/* A sum on the heap; the caller frees it. */
int *calc_add(int a, int b);
/* What is left after the sum is used. */
void calc_done(int *sum);
