// Files and JSON: whole files, for nobody but their owner.
#pragma once
#include <fcntl.h>
#include <sys/statvfs.h>

#include "state.h"

namespace kernelwright {

static u64 hash64(const void* data, size_t size, u64 hash = 1469598103934665603ull) {
    const uint8_t* at = (const uint8_t*)data;
    for (; size >= 8; size -= 8, at += 8) {
        u64 word;
        memcpy(&word, at, 8);
        hash = (hash ^ word) * 0x9E3779B97F4A7C15ull;
        hash ^= hash >> 29;
    }
    for (; size; --size, ++at) hash = (hash ^ *at) * 1099511628211ull;
    return hash;
}

static std::string quoted(const std::string& text) {
    std::string out = "\"";
    for (unsigned char c : text) {
        char code[8];
        if (c == '"' || c == '\\') {
            out += '\\';
            out += (char)c;
        } else if (c < 32 || c > 126) {  // names of kernels are ASCII; others lose nothing but looks
            snprintf(code, sizeof code, "\\u%04x", c);
            out += code;
        } else {
            out += (char)c;
        }
    }
    return out + "\"";
}

static std::string formatted(const char* format, ...) {
    va_list given, again;
    va_start(given, format);
    va_copy(again, given);
    std::string out((size_t)vsnprintf(nullptr, 0, format, given), 0);
    vsnprintf(&out[0], out.size() + 1, format, again);
    va_end(given);
    va_end(again);
    return out;
}

static std::string hexadecimal(const void* data, size_t size) {
    static const char digits[] = "0123456789abcdef";
    std::string out;
    for (const uint8_t* at = (const uint8_t*)data; size; --size, ++at) {
        out += digits[*at >> 4];
        out += digits[*at & 15];
    }
    return out;
}

// The items of a JSON array.
template <class Items, class Text>
static std::string joined(const Items& items, Text text) {
    std::string out;
    for (const auto& item : items) {
        if (!out.empty()) out += ", ";
        out += text(item);
    }
    return "[" + out + "]";
}

static std::string size3(const Size3& s) { return formatted("[%u, %u, %u]", s[0], s[1], s[2]); }

static std::string attribute_texts(const std::vector<Attribute>& attributes) {
    return joined(attributes, [](const Attribute& a) {
        return formatted("[%u, %u, %u, %u]", a.id, a.value[0], a.value[1], a.value[2]);
    });
}

static bool make_folder(const std::string& path) {
    return mkdir(path.c_str(), 0700) == 0 || errno == EEXIST;
}

static bool room_for(u64 nbytes) {
    struct statvfs disk;
    if (statvfs(settings.folder.c_str(), &disk)) return false;
    return (u64)disk.f_bavail * disk.f_frsize > nbytes + settings.free_bytes;
}

// A file that appears whole or not at all.
static bool write_file(const std::string& path, const void* data, size_t size) {
    std::string partial = path + ".part";
    int fd = open(partial.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    if (fd < 0) return false;
    const char* at = (const char*)data;
    size_t left = size;
    while (left) {
        ssize_t n = write(fd, at, left);
        if (n < 0 && errno == EINTR) continue;
        if (n <= 0) break;
        at += n;
        left -= (size_t)n;
    }
    bool ok = close(fd) == 0 && !left && rename(partial.c_str(), path.c_str()) == 0;
    if (!ok) unlink(partial.c_str());
    return ok;
}

static bool write_text(const std::string& path, const std::string& text) {
    return write_file(path, text.data(), text.size());
}

}  // namespace kernelwright
