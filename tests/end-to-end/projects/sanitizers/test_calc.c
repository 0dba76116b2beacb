/* The leak of calc_done is LeakSanitizer's to find, which stops the threads of its process by ptrace. */
#include "calc.h"

#include <pthread.h>
#include <stdio.h>

static void *add(void *unused)
{
	(void)unused;
	for (int i = 0; i < 100; i++)
		calc_done(calc_add(i, 2));
	return NULL;
}

int main(void)
{
	pthread_t thread;
	if (pthread_create(&thread, NULL, add, NULL) != 0)
		return 3;
	pthread_join(thread, NULL);
	puts("added");
	return 0;
}
