#include "device_shim.h"
#undef assert
#define assert(holds) ((holds) ? (void)0 : pretend::fail(pretend::ASSERT))
