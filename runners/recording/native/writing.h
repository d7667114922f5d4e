// What a recording's files say, written whole every few seconds and at the end: a program that ends
// by _exit or a signal loses what came after the last writing.
#pragma once
#include <pthread.h>

#include "replacing.h"

namespace kernelwright {

static std::string function_rows() {
    std::string out;
    for (Function* f : functions) {
        find_image(f);
        out += formatted("{\"id\": %d, \"name\": %s, \"launches\": %llu, \"image\": %s, "
                         "\"candidates\": %d, \"device\": %d, \"attributes\": ",
                         f->id, quoted(f->name).c_str(), f->launches,
                         quoted(image_of(f)).c_str(), f->candidates, f->device);
        out += joined(f->attributes, [](int v) { return std::to_string(v); }) + ", \"params\": [";
        for (size_t i = 0; i < f->offsets.size(); ++i)
            out += formatted("%s[%zu, %zu]", i ? ", " : "", f->offsets[i], f->sizes[i]);
        out += "]}\n";
    }
    return out;
}

static std::string configuration_rows() {
    std::string out;
    for (Configuration* c : configurations) {
        out += formatted("{\"id\": %d, \"function\": %d, \"grid\": ", c->id, c->function->id);
        out += size3(c->grid) + ", \"block\": " + size3(c->block);
        out += formatted(", \"shared\": %u, \"attributes\": ", c->shared) +
               attribute_texts(c->attributes);
        out += formatted(
            ", \"scalars\": \"%s\", \"merged\": %s, \"count\": %llu, \"captured\": %llu, "
            "\"first\": %llu, \"first_plain\": %llu, \"timed\": %llu, \"sum_ns\": %llu, "
            "\"least_ns\": %llu, \"most_ns\": %llu, \"times\": ",
            hexadecimal(c->scalars.data(), c->scalars.size()).c_str(),
            c->merged ? "true" : "false", c->count, c->captured, c->first, c->first_plain,
            c->timed, c->sum_ns, c->timed ? c->least_ns : 0, c->most_ns);
        out += joined(c->times, [](const Timed& t) {
                   return formatted("[%llu, %llu]", t.ordinal, t.ns);
               }) + "}\n";
    }
    return out;
}

static std::string elsewhere_rows() {
    std::string out;
    for (const auto& each : elsewhere) {
        const Elsewhere& e = each.second;
        out += formatted("{\"name\": %s, \"grid\": %s, \"block\": %s, \"shared\": %u, "
                         "\"graph\": %s, \"count\": %llu, \"sum_ns\": %llu}\n",
                         quoted(e.name).c_str(), size3(e.grid).c_str(), size3(e.block).c_str(),
                         e.shared, e.graph ? "true" : "false", e.count, e.sum_ns);
    }
    return out;
}

static std::string pairs(const std::map<std::string, std::string>& values) {
    std::string out;
    for (const auto& each : values)
        out += (out.empty() ? "" : ", ") + quoted(each.first) + ": " + quoted(each.second);
    return "{" + out + "}";
}

static std::string summary_text(bool ended) {
    int driver = 0;
    if (r_cuDriverGetVersion) r_cuDriverGetVersion(&driver);
    std::string out = formatted(
        "{\"version\": 1, \"pid\": %d, \"front\": \"%s\", \"ended\": %s, \"seconds\": %.6f,\n"
        " \"driver\": %d, \"launches\": %llu, \"graph_launches\": %llu, \"functions\": %zu, "
        "\"configurations\": %zu,\n \"images\": %zu, \"snapshots\": %llu, \"written_bytes\": %llu, "
        "\"memsets\": %llu, \"copies\": %llu, \"records\": %llu, \"records_dropped\": %llu,\n",
        (int)recording_pid, settings.front_is_shim ? "shim" : "cupti", ended ? "true" : "false",
        seconds() - started_at, driver, launches, graph_launches, functions.size(),
        configurations.size(), images.size(), snapshots, written_bytes, memsets, copies, records,
        records_dropped);
    out += " \"devices\": " + joined(devices, [](const auto& d) {
        return formatted("{\"index\": %d, \"uuid\": %s, \"name\": %s}", d.first,
                         quoted(d.second.first).c_str(), quoted(d.second.second).c_str());
    });
    out += ",\n \"calls\": {";
    bool first = true;
    for (const auto& each : calls) {
        out += formatted("%s\"%s\": %llu", first ? "" : ", ", each.first.c_str(), each.second);
        first = false;
    }
    out += "},\n \"transfers\": " + joined(transfers, [](const auto& t) {
        return formatted("{\"kind\": \"%s\", \"count\": %llu, \"sum_ns\": %llu}", t.first.c_str(),
                         t.second.first, t.second.second);
    });
    size_t bins = timeline.start ? (timeline.end - timeline.start) / timeline.width + 1 : 0;
    bins = std::min(bins, Timeline::kBins);
    std::vector<u64> busy(timeline.busy, timeline.busy + bins);
    std::vector<u64> looked(timeline.looked, timeline.looked + bins);
    auto number = [](u64 v) { return std::to_string(v); };
    out += formatted(",\n \"timeline\": {\"span_ns\": %llu, \"width_ns\": %llu, \"busy_ns\": ",
                     timeline.end - timeline.start, timeline.width) +
           joined(busy, number) + ", \"looked_ns\": " + joined(looked, number) + "}";
    out += ",\n \"problems\": " + pairs(problems) + ",\n \"replacements\": " +
           joined(replacements, [](const Replacement& r) {
               return formatted("{\"id\": %d, \"uses\": %llu, \"passed\": %llu, \"shadowed\": %d, "
                                "\"loaded\": %s}",
                                r.id, r.uses, r.passed, r.shadowed, r.function ? "true" : "false");
           });
    return out + "}\n";
}

static void write_recording(bool ended) {
    std::lock_guard<std::recursive_mutex> guard(state_lock);
    std::lock_guard<std::mutex> times(times_lock);
    Inside ours;
    if (getpid() != recording_pid) return;  // a fork of the program: what it knows is its parent's
    timeline.looked_until(timeline.end);
    write_text(settings.folder + "/functions.jsonl", function_rows());
    write_text(settings.folder + "/configurations.jsonl", configuration_rows());
    write_text(settings.folder + "/elsewhere.jsonl", elsewhere_rows());
    std::string told;
    for (const std::string& note : notes) told += note + "\n";
    write_text(settings.folder + "/notes.jsonl", told);
    write_text(settings.folder + "/summary.json", summary_text(ended));
}

static void write_now_and_then() {
    u64 written = ~0ull;
    for (unsigned pause_ms = 250;; pause_ms = std::min(pause_ms * 2, 16000u)) {
        timespec pause{(time_t)(pause_ms / 1000), (long)(pause_ms % 1000) * 1000000};
        nanosleep(&pause, nullptr);
        u64 now;
        {
            std::lock_guard<std::recursive_mutex> guard(state_lock);
            now = launches + graph_launches;
        }
        if (now != written) write_recording(false);
        written = now;
    }
}

static Size3 read_size3(const char* text) {
    Size3 out{};
    sscanf(text, "%u %u %u", &out[0], &out[1], &out[2]);
    return out;
}

static std::vector<std::string> fields_of(char* line) {
    std::vector<std::string> out;
    std::string text = line;
    if (!text.empty() && text.back() == '\n') text.pop_back();
    size_t at = 0;
    for (;;) {
        size_t tab = text.find('\t', at);
        out.push_back(text.substr(at, tab - at));
        if (tab == std::string::npos) return out;
        at = tab + 1;
    }
}

template <class Each>
static void each_line(const char* variable, const char* kind, Each each) {
    const char* path = getenv(variable);
    if (!path || !*path) return;
    FILE* file = fopen(path, "re");
    if (!file) return problem(kind, "%s cannot be read: %s", path, strerror(errno));
    char* line = nullptr;
    size_t room = 0;
    while (getline(&line, &room, file) > 0) each(fields_of(line));
    free(line);
    fclose(file);
}

// label, ordinal, grid, block, shared, scalars, name
static void read_wishes() {
    each_line("KERNELWRIGHT_SNAPSHOTS", "wishes", [](const std::vector<std::string>& f) {
        if (f.size() != 7) return;
        wishes.push_back({f[0], strtoull(f[1].c_str(), nullptr, 10), read_size3(f[2].c_str()),
                          read_size3(f[3].c_str()), (unsigned)atol(f[4].c_str()), f[5]});
        name_of(f[6])->wishes.push_back(&wishes.back());
    });
}

// id, name, image, when: grid, block, shared ("-": any); cubin, entry, grid, block, shared
static void read_replacements() {
    each_line("KERNELWRIGHT_REPLACEMENTS", "replacements", [](const std::vector<std::string>& f) {
        if (f.size() != 11) return;
        Replacement r{};
        r.id = atoi(f[0].c_str());
        r.name = f[1];
        r.image = f[2];
        r.any_geometry = f[3] == "-";
        r.when_grid = read_size3(f[3].c_str());
        r.when_block = read_size3(f[4].c_str());
        r.when_shared = (unsigned)atol(f[5].c_str());
        r.cubin = f[6];
        r.entry = f[7];
        r.grid = read_size3(f[8].c_str());
        r.block = read_size3(f[9].c_str());
        r.shared = atol(f[10].c_str());
        replacements.push_back(r);
        name_of(r.name)->replacements.push_back(&replacements.back());
    });
}

static u64 number(const char* variable, u64 otherwise) {
    const char* given = getenv(variable);
    return given && *given ? strtoull(given, nullptr, 10) : otherwise;
}

// False: nobody asked for a recording, and nothing is to be done.
static bool begin(bool front_is_shim) {
    const char* folder = getenv("KERNELWRIGHT_RECORDING");
    if (!folder || !*folder) return false;
    recording_pid = getpid();
    started_at = seconds();
    settings.front_is_shim = front_is_shim;
    settings.folder = formatted("%s/%d", folder, (int)recording_pid);
    settings.launch_bytes = number("KERNELWRIGHT_MOST_LAUNCH_BYTES", settings.launch_bytes);
    settings.total_bytes = number("KERNELWRIGHT_MOST_BYTES", settings.total_bytes);
    settings.shadow = (int)number("KERNELWRIGHT_SHADOW", 0);
    make_folder(folder);
    make_folder(settings.folder);
    for (const char* inner : {"/images", "/blobs", "/snapshots"})
        make_folder(settings.folder + inner);
    read_wishes();
    read_replacements();
    pthread_t thread;
    auto run = [](void*) -> void* {
        write_now_and_then();
        return nullptr;
    };
    if (!pthread_create(&thread, nullptr, run, nullptr)) pthread_detach(thread);
    return true;
}

}  // namespace kernelwright
