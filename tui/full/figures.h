/* Figures as the screen shows them, in the caller's array. */
#ifndef TUI_FULL_FIGURES_H
#define TUI_FULL_FIGURES_H

#include <stdint.h>

struct figure {
	char text[40];
};

struct figure figure_clock(int64_t ms);		/* "0:03", "12:34", "1:02:03": whole seconds */
struct figure figure_took(int64_t ms);		/* "85 ms", then as a clock with tenths below a minute: "2.1 s" */
struct figure figure_us(int64_t us);		/* "0.3 ms", "12 ms" */
struct figure figure_money(int64_t usd_micro);	/* "$0.31" */
struct figure figure_bytes(int64_t bytes);	/* "12 kB", "3.4 MB" */

#endif
