#ifndef MODEL_TEST_H
#define MODEL_TEST_H

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif
int check_model(const char* modules, const void* network, size_t bytes); /* how many checks failed */
#ifdef __cplusplus
}
#endif
#endif
