#include "epilogue.h"
#define EPILOGUE_ARGUMENTS READ(bias, T), READ(residual0, T), READ(residual1, T)
#define EPILOGUE_AT AT(bias), AT(residual0), AT(residual1)
#define EPILOGUE(at, v, channel, place) epilogue(words, at, v, channel, place, bias, residual0, residual1)
float epilogue(constant uint *words, uint at, float v, uint channel, uint place, global const T *bias,
               global const T *residual0, global const T *residual1) {
    FINISH(at, v, channel, place)
    return v;
}
