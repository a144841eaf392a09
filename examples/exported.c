/* A compiled function of Phintys in a C program: the state of a filter, updated by each call.

   python -m phintys export examples/exported.py:smoother out
   cc -Iout -o smoother examples/exported.c out/smoother.o -lm && ./smoother */
#include <stdio.h>
#include <stdlib.h>
#include "smoother.h"

int main(void) {
  double samples[3] = {1.0, 2.0, 4.0}, level[3], loss;
  void *state = malloc(smoother_state_bytes());
  if (state == NULL) return 1;
  smoother_state_init(state);
  for (int step = 0; step < 3; step++) {
    int32_t code = smoother_typed(samples, level, &loss, state, NULL, 0);
    if (code != 0) {
      fprintf(stderr, "%s\n", smoother_message(code));
      return 1;
    }
    printf("%.6f %.6f %.6f, %.6f\n", level[0], level[1], level[2], loss);
  }
  free(state);
  return 0;
}
