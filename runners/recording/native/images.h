// Machine code: kept as files by content, found again by the symbols in it.
#pragma once
#include <elf.h>

#include "texts.h"

namespace kernelwright {

constexpr size_t kMostSymbols = 1 << 20;
constexpr u64 kMostGlobal = 1 << 20;

// Bytes of an ELF image whose size nobody told: it ends with its section or its segment table.
static size_t elf_size(const void* image) {
    const Elf64_Ehdr* e = (const Elf64_Ehdr*)image;
    if (memcmp(e->e_ident, ELFMAG, SELFMAG)) return 0;
    u64 end = std::max<u64>(e->e_shoff + (u64)e->e_shnum * e->e_shentsize,
                            e->e_phoff + (u64)e->e_phnum * e->e_phentsize);
    const Elf64_Shdr* sections = (const Elf64_Shdr*)((const char*)image + e->e_shoff);
    if (e->e_shentsize == sizeof *sections)
        for (int i = 0; i < e->e_shnum; ++i)
            if (sections[i].sh_type != SHT_NOBITS)
                end = std::max<u64>(end, sections[i].sh_offset + sections[i].sh_size);
    return end;
}

// Kernels and variables by the symbol table; damaged tables are left out.
static void read_symbols(const char* data, size_t size, Image& image) {
    if (size < sizeof(Elf64_Ehdr) || memcmp(data, ELFMAG, SELFMAG)) return;
    const Elf64_Ehdr* e = (const Elf64_Ehdr*)data;
    if (e->e_shoff > size || e->e_shentsize != sizeof(Elf64_Shdr) ||
        e->e_shnum > (size - e->e_shoff) / sizeof(Elf64_Shdr))
        return;
    const Elf64_Shdr* sections = (const Elf64_Shdr*)(data + e->e_shoff);
    auto within = [&](const Elf64_Shdr& s) {
        return s.sh_offset <= size && s.sh_size <= size - s.sh_offset;
    };
    for (int i = 0; i < e->e_shnum; ++i) {
        const Elf64_Shdr& table = sections[i];
        if (table.sh_type != SHT_SYMTAB || table.sh_link >= e->e_shnum || !within(table)) continue;
        const Elf64_Shdr& texts = sections[table.sh_link];
        if (!within(texts) || !texts.sh_size || data[texts.sh_offset + texts.sh_size - 1]) continue;
        const Elf64_Sym* symbols = (const Elf64_Sym*)(data + table.sh_offset);
        size_t count = std::min<size_t>(table.sh_size / sizeof(Elf64_Sym), kMostSymbols);
        for (size_t k = 0; k < count; ++k) {
            const Elf64_Sym& s = symbols[k];
            if (!s.st_shndx || s.st_name >= texts.sh_size) continue;
            const char* name = data + texts.sh_offset + s.st_name;
            int kind = s.st_info & 15;
            if (kind == STT_FUNC) image.functions.push_back(name);
            if (kind == STT_OBJECT && s.st_size && s.st_size <= kMostGlobal)
                image.objects.push_back(name);
        }
    }
    std::sort(image.functions.begin(), image.functions.end());
}

// `data` as the driver was given it; the same image twice is one.
static void add_image(const void* data, size_t size) {
    if (!data || !size) return;
    std::lock_guard<std::recursive_mutex> guard(state_lock);
    u64 hash = hash64(data, size);
    for (const Image& known : images)
        if (known.hash == hash && known.size == size) return;
    Image image;
    image.hash = hash;
    image.size = size;
    image.file = formatted("%016llx.cubin", hash);
    read_symbols((const char*)data, size, image);
    if (image_bytes_written + size > settings.image_bytes || !room_for(size)) {
        problem("images", "machine code beyond the limit or the room on the disk was not kept");
        image.file.clear();
    } else if (!write_file(settings.folder + "/images/" + image.file, data, size)) {
        problem("images", "machine code could not be written: %s", strerror(errno));
        image.file.clear();
    } else {
        image_bytes_written += size;
    }
    images.push_back(std::move(image));
}

// The image of a function: the last one loaded so far that defines its name. A handle is looked at
// when it is first launched, right after its module was loaded: of same-named candidates of
// autotuning each finds its own.
static void find_image(Function* f) {
    if (f->image >= 0 || f->images_seen == images.size()) return;
    for (size_t i = f->images_seen; i < images.size(); ++i)
        if (std::binary_search(images[i].functions.begin(), images[i].functions.end(), f->name)) {
            f->image = (int)i;
            ++f->candidates;
        }
    f->images_seen = images.size();
}

}  // namespace kernelwright
