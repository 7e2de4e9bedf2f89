#include <stdlib.h>

void from_the_library_that_is_not_there(void);
void from_the_library_that_is_not_there(void) {
#ifdef ABORTS
    abort();
#endif
}
