/*
 * The C++ peers of bench/trace: the time that a trace's kernels take, summed by rapidjson's SAX reader
 * or simdjson's On-Demand parser. Both hold the whole file in memory, as their users do; neither
 * answers more than this one question.
 *
 *	trace_peers rapidjson|simdjson FILE
 */
#include <cstdio>
#include <cstring>
#include <fcntl.h>
#include <string>
#include <string_view>
#include <sys/stat.h>
#include <unistd.h>

#include <rapidjson/memorystream.h>
#include <rapidjson/reader.h>
#include <simdjson.h>

struct totals {
	long events = 0;
	double kernel_us = 0;
};

/* Events are the objects at depth 3 of {"traceEvents": [{...}]}; deeper ones are their args. */
struct sax : rapidjson::BaseReaderHandler<rapidjson::UTF8<>, sax> {
	totals sum;
	int depth = 0;
	enum { OTHER, CAT, DUR } key = OTHER;
	bool is_kernel = false;
	double dur = 0;

	bool StartObject()
	{
		if (++depth == 2) {
			is_kernel = false;
			dur = 0;
		}
		return true;
	}
	bool EndObject(rapidjson::SizeType)
	{
		if (depth-- == 2) {
			sum.events++;
			if (is_kernel)
				sum.kernel_us += dur;
		}
		return true;
	}
	bool Key(const char *s, rapidjson::SizeType n, bool)
	{
		key = depth != 2 || n != 3  ? OTHER
		        : !memcmp(s, "cat", 3) ? CAT
		        : !memcmp(s, "dur", 3) ? DUR
		                               : OTHER;
		return true;
	}
	bool String(const char *s, rapidjson::SizeType n, bool)
	{
		if (key == CAT && depth == 2)
			is_kernel = n == 6 && !memcmp(s, "kernel", 6);
		return true;
	}
	bool number(double v)
	{
		if (key == DUR && depth == 2)
			dur = v;
		return true;
	}
	bool Int(int v) { return number(v); }
	bool Uint(unsigned v) { return number(v); }
	bool Int64(int64_t v) { return number(double(v)); }
	bool Uint64(uint64_t v) { return number(double(v)); }
	bool Double(double v) { return number(v); }
};

static totals by_rapidjson(const std::string &text)
{
	rapidjson::MemoryStream stream(text.data(), text.size());
	rapidjson::Reader reader;
	sax handler;
	reader.Parse(stream, handler);
	return handler.sum;
}

static totals by_simdjson(std::string &text)
{
	totals sum;
	size_t length = text.size();
	text.resize(length + simdjson::SIMDJSON_PADDING);
	simdjson::ondemand::parser parser;
	auto document = parser.iterate(text.data(), length, text.size());
	for (auto event : document["traceEvents"].get_array()) {
		auto object = event.get_object();
		sum.events++;
		std::string_view cat;
		double dur;
		if (object.find_field("cat").get_string().get(cat) == simdjson::SUCCESS && cat == "kernel" &&
		        object.find_field_unordered("dur").get_double().get(dur) == simdjson::SUCCESS)
			sum.kernel_us += dur;
	}
	return sum;
}

static bool read_whole(const char *path, std::string &text)
{
	struct stat st;
	int fd = open(path, O_RDONLY);
	if (fd < 0 || fstat(fd, &st) != 0)
		return false;
	text.resize(size_t(st.st_size));
	size_t at = 0;
	for (ssize_t n; at < text.size() && (n = read(fd, &text[at], text.size() - at)) > 0;)
		at += size_t(n);
	close(fd);
	return at == text.size();
}

int main(int argc, char **argv)
{
	std::string text;
	totals sum;
	if (argc != 3 || !read_whole(argv[2], text))
		return 2;
	if (!strcmp(argv[1], "rapidjson"))
		sum = by_rapidjson(text);
	if (!strcmp(argv[1], "simdjson"))
		sum = by_simdjson(text);
	if (sum.events == 0)
		return 3;
	printf("%ld events, %.3f us of kernels\n", sum.events, sum.kernel_us);
	return 0;
}
