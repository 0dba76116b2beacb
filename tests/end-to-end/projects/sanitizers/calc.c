#include "calc.h"

#include <stdlib.h>

int *calc_add(int a, int b)
{
	int *sum = malloc(sizeof *sum);
	*sum = a + b;
	return sum;
}

void calc_done(int *sum)
{
	(void)sum;
}
