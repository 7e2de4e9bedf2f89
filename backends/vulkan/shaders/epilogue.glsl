#include "epilogue.h"
AT_3(READ, bias, T) AT_4(READ, residual0, T) AT_5(READ, residual1, T)
float epilogue(uint at, float v, uint channel, uint place) {
    FINISH(at, v, channel, place)
    return v;
}
