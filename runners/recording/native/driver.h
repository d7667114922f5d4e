// The real driver, by name: the library that stands in front of it must never call itself.
#pragma once
#include <cuda.h>
#include <dlfcn.h>

namespace kernelwright {

using AnyFunction = CUresult (*)(...);

#define KERNELWRIGHT_DRIVER(X)                                                                    \
    X(cuFuncGetParamInfo) X(cuKernelGetParamInfo) X(cuFuncGetName) X(cuKernelGetName)             \
    X(cuFuncGetAttribute) X(cuKernelGetFunction) X(cuFuncGetModule) X(cuPointerGetAttribute)      \
    X(cuPointerGetAttributes) X(cuStreamIsCapturing) X(cuCtxSynchronize) X(cuMemcpyDtoH_v2)       \
    X(cuMemcpyDtoD_v2) X(cuMemAlloc_v2) X(cuMemFree_v2) X(cuModuleLoadData)                       \
    X(cuModuleLoadDataEx) X(cuLibraryLoadData) X(cuModuleLoad) X(cuLibraryLoadFromFile)           \
    X(cuModuleGetFunction) X(cuModuleGetGlobal_v2)                                                \
    X(cuFuncSetAttribute) X(cuLaunchKernel) X(cuLaunchKernelEx) X(cuLaunchKernel_ptsz)            \
    X(cuLaunchKernelEx_ptsz) X(cuLaunchCooperativeKernel) X(cuLaunchCooperativeKernel_ptsz)       \
    X(cuGraphLaunch) X(cuGraphLaunch_ptsz) X(cuDriverGetVersion) X(cuCtxGetCurrent)               \
    X(cuCtxGetDevice) X(cuDeviceGetUuid) X(cuDeviceGetName)                                       \
    X(cuThreadExchangeStreamCaptureMode) X(cuGetProcAddress_v2)

static void* driver_library;
// `r_NAME`: the real function; it is null in a driver that is older than the function.
#define X(name) static AnyFunction r_##name;
KERNELWRIGHT_DRIVER(X)
#undef X

static void bind_driver(void* library) {
    driver_library = library;
#define X(name) r_##name = (AnyFunction)dlsym(library, #name);
    KERNELWRIGHT_DRIVER(X)
#undef X
}

}  // namespace kernelwright
