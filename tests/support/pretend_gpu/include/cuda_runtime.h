#include "device_shim.h"
