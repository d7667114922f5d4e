// A pretended libcuda.so.1 for programs that are recorded: memory is the host's, machine code is a
// shared object of the host whose functions are kernels, and every launch is done before it returns.
//
// A kernel NAME is `void NAME(void** params, const unsigned* grid)`, and `NAME_params` lists its
// parameters: their number, then offset and size of each.
#define _GNU_SOURCE
#include <cuda.h>
#include <dlfcn.h>
#include <elf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>
#undef cuGetProcAddress
#undef cuMemAlloc
#undef cuDeviceGetUuid

enum { MOST = 4096, GRAIN = 2 << 20 };
typedef void (*Kernel)(void**, const unsigned*);
struct Range { CUdeviceptr at; size_t size; int mapped, host; };
struct Module { void* library; };
struct Function { char name[256]; Kernel run; const unsigned long* params; struct Module* module; };
struct Node { struct Function* f; unsigned grid[3]; char block[4096]; };
struct Graph { int count; struct Node nodes[64]; };

static struct Range ranges[MOST];
static int range_count;
static CUdeviceptr next_address;
static struct Graph* capturing;
static int failed, stuck;

static struct Range* find(CUdeviceptr p) {
    for (int i = 0; i < range_count; ++i)
        if (p >= ranges[i].at && p < ranges[i].at + ranges[i].size) return ranges + i;
    return NULL;
}
static void forget(CUdeviceptr p) {
    struct Range* r = find(p);
    if (r) *r = ranges[--range_count];
}
static size_t up(size_t n, size_t to) { return (n + to - 1) / to * to; }

CUresult cuInit(unsigned flags) {
    // as the real driver does, before anything else of it works
    static int done;
    const char* path = getenv("CUDA_INJECTION64_PATH");
    if (!done++ && path && *path) {
        void* library = dlopen(path, RTLD_NOW);
        int (*start)(void) = library ? (int (*)(void))dlsym(library, "InitializeInjection") : NULL;
        if (start) start();
    }
    (void)flags;
    return CUDA_SUCCESS;
}
CUresult cuDriverGetVersion(int* v) { *v = 13000; return CUDA_SUCCESS; }
CUresult cuDeviceGetCount(int* n) { *n = 1; return CUDA_SUCCESS; }
CUresult cuDeviceGet(CUdevice* d, int i) { *d = 0; return i ? CUDA_ERROR_INVALID_DEVICE : CUDA_SUCCESS; }
CUresult cuDeviceGetName(char* name, int n, CUdevice d) { (void)d; snprintf(name, n, "Pretended GPU"); return CUDA_SUCCESS; }
CUresult cuDeviceGetUuid_v2(CUuuid* u, CUdevice d) { (void)d; memset(u, 7, sizeof *u); return CUDA_SUCCESS; }
CUresult cuDeviceGetUuid(CUuuid* u, CUdevice d) { return cuDeviceGetUuid_v2(u, d); }
CUresult cuDeviceGetAttribute(int* v, CUdevice_attribute a, CUdevice d) { (void)a; (void)d; *v = 1; return CUDA_SUCCESS; }
CUresult cuDevicePrimaryCtxRetain(CUcontext* c, CUdevice d) { (void)d; *c = (CUcontext)8; return CUDA_SUCCESS; }
CUresult cuDevicePrimaryCtxRelease_v2(CUdevice d) { (void)d; return CUDA_SUCCESS; }
static CUcontext current;
CUresult cuCtxSetCurrent(CUcontext c) { current = c; return CUDA_SUCCESS; }
CUresult cuCtxGetCurrent(CUcontext* c) { *c = current; return CUDA_SUCCESS; }
CUresult cuCtxGetDevice(CUdevice* d) { *d = 0; return CUDA_SUCCESS; }
CUresult cuCtxSynchronize(void) { return failed; }

static CUresult give(CUdeviceptr* p, size_t n, int host) {
    // as on a GPU, other processes have other addresses, and none is given twice
    if (!next_address) next_address = 0x700000000000ull + ((CUdeviceptr)(getpid() % 1024) << 34);
    void* m = MAP_FAILED;
    for (int i = 0; i < 64 && m == MAP_FAILED; ++i, next_address += m == MAP_FAILED ? 1ull << 30 : 0)
        m = mmap((void*)next_address, up(n, 4096), 3, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
    if (m == MAP_FAILED || range_count >= MOST) return CUDA_ERROR_OUT_OF_MEMORY;
    *p = (CUdeviceptr)m;
    next_address += up(n + GRAIN, GRAIN);
    ranges[range_count++] = (struct Range){*p, n, 1, host};
    return CUDA_SUCCESS;
}
CUresult cuMemAlloc_v2(CUdeviceptr* p, size_t n) { return give(p, n, 0); }
CUresult cuMemFree_v2(CUdeviceptr p) { forget(p); return CUDA_SUCCESS; }
CUresult cuMemHostAlloc(void** p, size_t n, unsigned f) { (void)f; return give((CUdeviceptr*)p, n, 1); }
CUresult cuMemHostGetDevicePointer_v2(CUdeviceptr* d, void* p, unsigned f) { (void)f; *d = (CUdeviceptr)p; return CUDA_SUCCESS; }
CUresult cuMemFreeHost(void* p) { forget((CUdeviceptr)p); return CUDA_SUCCESS; }
CUresult cuMemGetInfo_v2(size_t* left, size_t* all) { *left = *all = 1ull << 32; return CUDA_SUCCESS; }
CUresult cuMemcpyDtoH_v2(void* d, CUdeviceptr s, size_t n) { memcpy(d, (void*)s, n); return CUDA_SUCCESS; }
CUresult cuMemcpyHtoD_v2(CUdeviceptr d, const void* s, size_t n) { memcpy((void*)d, s, n); return CUDA_SUCCESS; }
CUresult cuMemcpyHtoDAsync_v2(CUdeviceptr d, const void* s, size_t n, CUstream t) { (void)t; return cuMemcpyHtoD_v2(d, s, n); }
CUresult cuMemcpyDtoHAsync_v2(void* d, CUdeviceptr s, size_t n, CUstream t) { (void)t; return cuMemcpyDtoH_v2(d, s, n); }
CUresult cuMemcpyDtoD_v2(CUdeviceptr d, CUdeviceptr s, size_t n) { memmove((void*)d, (void*)s, n); return CUDA_SUCCESS; }
CUresult cuMemcpyDtoDAsync_v2(CUdeviceptr d, CUdeviceptr s, size_t n, CUstream t) { (void)t; return cuMemcpyDtoD_v2(d, s, n); }
CUresult cuMemsetD8Async(CUdeviceptr d, unsigned char v, size_t n, CUstream s) { (void)s; memset((void*)d, v, n); return CUDA_SUCCESS; }

CUresult cuPointerGetAttribute(void* d, CUpointer_attribute a, CUdeviceptr p) {
    struct Range* r = find(p);
    if (!r || !r->mapped) return CUDA_ERROR_INVALID_VALUE;
    if (a == CU_POINTER_ATTRIBUTE_MEMORY_TYPE) *(unsigned*)d = r->host ? CU_MEMORYTYPE_HOST : CU_MEMORYTYPE_DEVICE;
    if (a == CU_POINTER_ATTRIBUTE_RANGE_START_ADDR) *(CUdeviceptr*)d = r->at;
    if (a == CU_POINTER_ATTRIBUTE_RANGE_SIZE) *(size_t*)d = r->size;
    if (a == CU_POINTER_ATTRIBUTE_IS_MANAGED) *(unsigned*)d = getenv("PRETEND_MANAGED") != NULL;
    return CUDA_SUCCESS;
}
CUresult cuPointerGetAttributes(unsigned n, CUpointer_attribute* a, void** d, CUdeviceptr p) {
    for (unsigned i = 0; i < n; ++i) {
        CUresult code = cuPointerGetAttribute(d[i], a[i], p);
        if (code) return code;
    }
    return CUDA_SUCCESS;
}
CUresult cuMemGetAllocationGranularity(size_t* g, const CUmemAllocationProp* p, CUmemAllocationGranularity_flags o) { (void)p; (void)o; *g = GRAIN; return CUDA_SUCCESS; }
CUresult cuMemAddressReserve(CUdeviceptr* p, size_t n, size_t align, CUdeviceptr at, unsigned long long f) {
    (void)align; (void)f;
    if (at % (32ull << 20)) at = 0;
    void* m = at ? mmap((void*)at, n, 0, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0) : MAP_FAILED;
    if (m == MAP_FAILED) m = mmap(NULL, n, 0, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    *p = (CUdeviceptr)m;
    return CUDA_SUCCESS;
}
CUresult cuMemAddressFree(CUdeviceptr p, size_t n) { munmap((void*)p, n); return CUDA_SUCCESS; }
CUresult cuMemCreate(CUmemGenericAllocationHandle* h, size_t n, const CUmemAllocationProp* p, unsigned long long f) { (void)n; (void)p; (void)f; *h = 1; return CUDA_SUCCESS; }
CUresult cuMemMap(CUdeviceptr p, size_t n, size_t o, CUmemGenericAllocationHandle h, unsigned long long f) {
    (void)o; (void)h; (void)f;
    mprotect((void*)p, n, 3);
    ranges[range_count++] = (struct Range){p, n, 1, 0};
    return CUDA_SUCCESS;
}
CUresult cuMemSetAccess(CUdeviceptr p, size_t n, const CUmemAccessDesc* d, size_t c) { (void)p; (void)n; (void)d; (void)c; return CUDA_SUCCESS; }
CUresult cuMemUnmap(CUdeviceptr p, size_t n) { (void)n; forget(p); return CUDA_SUCCESS; }
CUresult cuMemRelease(CUmemGenericAllocationHandle h) { (void)h; return CUDA_SUCCESS; }

static size_t image_size(const void* image) {
    const Elf64_Ehdr* e = image;
    return e->e_shoff + (size_t)e->e_shnum * e->e_shentsize;
}
CUresult cuModuleLoadData(CUmodule* out, const void* image) {
    if (memcmp(image, ELFMAG, SELFMAG)) return CUDA_ERROR_INVALID_IMAGE;
    if (((const Elf64_Ehdr*)image)->e_machine != EM_X86_64) return CUDA_ERROR_NO_BINARY_FOR_GPU;
    int fd = memfd_create("image", 0);
    if (fd < 0 || write(fd, image, image_size(image)) < 0) return CUDA_ERROR_INVALID_IMAGE;
    char path[64];
    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    struct Module* m = calloc(1, sizeof *m);
    m->library = dlopen(path, RTLD_NOW | RTLD_LOCAL);  // the descriptor stays open: paths stay apart
    *out = (CUmodule)m;
    return m->library ? CUDA_SUCCESS : CUDA_ERROR_INVALID_IMAGE;
}
CUresult cuModuleLoadDataEx(CUmodule* m, const void* image, unsigned n, CUjit_option* o, void** v) { (void)n; (void)o; (void)v; return cuModuleLoadData(m, image); }
CUresult cuModuleLoad(CUmodule* m, const char* path) {
    static char image[1 << 20];
    FILE* f = fopen(path, "rb");
    size_t n = f ? fread(image, 1, sizeof image, f) : 0;
    if (f) fclose(f);
    return n ? cuModuleLoadData(m, image) : CUDA_ERROR_FILE_NOT_FOUND;
}
CUresult cuModuleUnload(CUmodule m) { (void)m; return CUDA_SUCCESS; }
CUresult cuModuleGetFunction(CUfunction* out, CUmodule module, const char* name) {
    struct Module* m = (struct Module*)module;
    struct Function* f = calloc(1, sizeof *f);
    char listed[300];
    snprintf(f->name, sizeof f->name, "%s", name);
    snprintf(listed, sizeof listed, "%s_params", name);
    f->run = (Kernel)dlsym(m->library, name);
    f->params = dlsym(m->library, listed);
    f->module = m;
    *out = (CUfunction)f;
    return f->run && f->params ? CUDA_SUCCESS : CUDA_ERROR_NOT_FOUND;
}
CUresult cuModuleGetGlobal_v2(CUdeviceptr* p, size_t* n, CUmodule module, const char* name) {
    size_t length = strlen(name);
    if (strncmp(name, "global_", 7)) return CUDA_ERROR_NOT_FOUND;
    (void)length;
    *p = (CUdeviceptr)dlsym(((struct Module*)module)->library, name);
    *n = 4;
    return *p ? CUDA_SUCCESS : CUDA_ERROR_NOT_FOUND;
}
CUresult cuFuncGetModule(CUmodule* m, CUfunction f) { *m = (CUmodule)((struct Function*)f)->module; return CUDA_SUCCESS; }
CUresult cuFuncGetName(const char** n, CUfunction f) { *n = ((struct Function*)f)->name; return CUDA_SUCCESS; }
CUresult cuFuncGetAttribute(int* v, CUfunction_attribute a, CUfunction f) { (void)a; (void)f; *v = 0; return CUDA_SUCCESS; }
CUresult cuFuncSetAttribute(CUfunction f, CUfunction_attribute a, int v) { (void)f; (void)a; (void)v; return CUDA_SUCCESS; }
CUresult cuFuncGetParamInfo(CUfunction function, size_t i, size_t* offset, size_t* size) {
    const unsigned long* listed = ((struct Function*)function)->params;
    if (i >= listed[0]) return CUDA_ERROR_INVALID_VALUE;
    *offset = listed[1 + 2 * i];
    *size = listed[2 + 2 * i];
    return CUDA_SUCCESS;
}

static void run(struct Function* f, const unsigned* grid, char* block) {
    if (!strcmp(f->name, "waiting") && !getenv("PRETEND_PARTNER")) { stuck = 1; return; }
    void* params[64];
    for (unsigned long i = 0; i < f->params[0]; ++i) params[i] = block + f->params[1 + 2 * i];
    f->run(params, grid);
}
CUresult cuLaunchKernel(CUfunction function, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz, unsigned shared, CUstream s, void** params, void** extra) {
    struct Node node = {.f = (struct Function*)function, .grid = {gx, gy, gz}};
    (void)bx; (void)by; (void)bz; (void)shared; (void)s;
    const unsigned long* listed = node.f->params;
    if (params)
        for (unsigned long i = 0; i < listed[0]; ++i) memcpy(node.block + listed[1 + 2 * i], params[i], listed[2 + 2 * i]);
    else if (extra)
        memcpy(node.block, extra[1], *(size_t*)extra[3]);
    if (!capturing) run(node.f, node.grid, node.block);
    else if (capturing->count < 64) capturing->nodes[capturing->count++] = node;
    return CUDA_SUCCESS;
}
CUresult cuLaunchKernelEx(const CUlaunchConfig* c, CUfunction f, void** p, void** e) {
    return cuLaunchKernel(f, c->gridDimX, c->gridDimY, c->gridDimZ, c->blockDimX, c->blockDimY, c->blockDimZ, c->sharedMemBytes, c->hStream, p, e);
}
CUresult cuStreamCreate(CUstream* s, unsigned f) { (void)f; *s = (CUstream)16; return CUDA_SUCCESS; }
CUresult cuStreamQuery(CUstream s) { (void)s; return CUDA_SUCCESS; }
CUresult cuStreamSynchronize(CUstream s) { (void)s; return CUDA_SUCCESS; }
CUresult cuStreamIsCapturing(CUstream s, CUstreamCaptureStatus* st) { (void)s; *st = capturing ? CU_STREAM_CAPTURE_STATUS_ACTIVE : CU_STREAM_CAPTURE_STATUS_NONE; return CUDA_SUCCESS; }
CUresult cuThreadExchangeStreamCaptureMode(CUstreamCaptureMode* m) { (void)m; return CUDA_SUCCESS; }
CUresult cuStreamBeginCapture_v2(CUstream s, CUstreamCaptureMode m) { (void)s; (void)m; capturing = calloc(1, sizeof *capturing); return CUDA_SUCCESS; }
CUresult cuStreamEndCapture(CUstream s, CUgraph* g) { (void)s; *g = (CUgraph)capturing; capturing = NULL; return CUDA_SUCCESS; }
CUresult cuGraphInstantiateWithFlags(CUgraphExec* e, CUgraph g, unsigned long long f) { (void)f; *e = (CUgraphExec)g; return CUDA_SUCCESS; }
CUresult cuGraphLaunch(CUgraphExec e, CUstream s) {
    struct Graph* g = (struct Graph*)e;
    (void)s;
    for (int i = 0; i < g->count; ++i) run(g->nodes[i].f, g->nodes[i].grid, g->nodes[i].block);
    return CUDA_SUCCESS;
}

struct Event { struct timespec at; };
CUresult cuEventCreate(CUevent* e, unsigned f) { (void)f; *e = calloc(1, sizeof(struct Event)); return CUDA_SUCCESS; }
CUresult cuEventRecord(CUevent e, CUstream s) { (void)s; clock_gettime(CLOCK_MONOTONIC, &((struct Event*)e)->at); return CUDA_SUCCESS; }
CUresult cuEventQuery(CUevent e) { (void)e; return stuck ? CUDA_ERROR_NOT_READY : CUDA_SUCCESS; }
CUresult cuEventSynchronize(CUevent e) { (void)e; return CUDA_SUCCESS; }
CUresult cuEventDestroy_v2(CUevent e) { free(e); return CUDA_SUCCESS; }
static CUresult elapsed(float* ms, CUevent a, CUevent b) {
    struct Event *x = (struct Event*)a, *y = (struct Event*)b;
    *ms = 1e3f * (y->at.tv_sec - x->at.tv_sec) + 1e-6f * (y->at.tv_nsec - x->at.tv_nsec);
    return CUDA_SUCCESS;
}
#undef cuEventElapsedTime
CUresult cuEventElapsedTime(float* ms, CUevent a, CUevent b) { return elapsed(ms, a, b); }
CUresult cuEventElapsedTime_v2(float* ms, CUevent a, CUevent b) { return elapsed(ms, a, b); }
CUresult cuGetErrorName(CUresult r, const char** s) { *s = r == CUDA_ERROR_NO_BINARY_FOR_GPU ? "CUDA_ERROR_NO_BINARY_FOR_GPU" : "CUDA_ERROR"; return CUDA_SUCCESS; }
CUresult cuGetErrorString(CUresult r, const char** s) { (void)r; *s = "an error"; return CUDA_SUCCESS; }

CUresult cuGetProcAddress_v2(const char* name, void** found, int version, cuuint64_t flags, CUdriverProcAddressQueryResult* status) {
    Dl_info self;
    char versioned[256];
    (void)version; (void)flags; (void)status;
    dladdr((void*)cuInit, &self);
    void* library = dlopen(self.dli_fname, RTLD_NOW | RTLD_NOLOAD);
    static const char* const endings[] = {"_v2", ""};
    *found = NULL;
    for (int i = 0; i < 2 && !*found; ++i) {
        snprintf(versioned, sizeof versioned, "%s%s", name, endings[i]);
        *found = dlsym(library, versioned);
    }
    return *found ? CUDA_SUCCESS : CUDA_ERROR_NOT_FOUND;
}
CUresult cuGetProcAddress(const char* n, void** p, int v, cuuint64_t f) { return cuGetProcAddress_v2(n, p, v, f, NULL); }
