/* Steps of Hamiltonian dynamics with the log-density of log_density.py, for any sampler that calls
   a function of C with a pointer for data of its own.

   python -m phintys export examples/log_density.py:log_density out
   cc -Iout -o sampler examples/log_density.c out/log_density.o -lm && ./sampler */
#include <stddef.h>
#include <stdio.h>
#include "log_density.h"

#define LENGTH 10

typedef int (*density)(size_t length, const double *x, double *gradient, double *value, void *data);

static int of_model(size_t length, const double *x, double *gradient, double *value, void *data) {
  (void)data;
  return length == LENGTH ? log_density_typed(x, value, gradient, NULL, 0) : -1;
}

static int sample(density f, void *data) {
  double x[LENGTH], speed[LENGTH], gradient[LENGTH], value, step = 0.1;
  for (int i = 0; i < LENGTH; i++) x[i] = 0.5, speed[i] = -1 + 2.0 * i / (LENGTH - 1);
  int code = f(LENGTH, x, gradient, &value, data);
  for (int number = 0; number < 50 && code == 0; number++) {
    double energy = 0;
    for (int i = 0; i < LENGTH; i++) speed[i] += step / 2 * gradient[i];
    for (int i = 0; i < LENGTH; i++) x[i] += step * speed[i];
    code = f(LENGTH, x, gradient, &value, data);
    for (int i = 0; i < LENGTH; i++) speed[i] += step / 2 * gradient[i];
    for (int i = 0; i < LENGTH; i++) energy += speed[i] * speed[i] / 2;
    if (number % 10 == 9) printf("%.6f %.6f\n", value, energy - value);
  }
  return code;
}

int main(void) { return sample(of_model, NULL); }
