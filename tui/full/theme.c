/* The format of theme.h. Owns nothing but the list of themes; the terminal is not its business. */
#include "tui/full/theme.h"

#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/base/buffer.h"
#include "core/base/cleanup.h"
#include "core/base/io.h"

#define SUFFIX ".theme"

static const struct {
	const char *name, *colour, *mono;
} roles[ROLE_COUNT] = {
#define X(identifier, name, colour, mono, purpose) [identifier] = { name, colour, mono },
	ROLES(X)
#undef X
};

static const char *const colours[] = { "black", "red", "green", "yellow", "blue", "magenta", "cyan", "white" };
static const struct {
	const char *name;
	unsigned bit;
} attributes[] = {
	{ "normal", 0 },
	{ "bold", ATTRIBUTE_BOLD },
	{ "underline", ATTRIBUTE_UNDERLINE },
	{ "reverse", ATTRIBUTE_REVERSE },
};

const char *role_name(enum role role)
{
	return roles[role].name;
}

int role_from_name(const char *name)
{
	for (int role = 0; role < ROLE_COUNT; role++)
		if (strcmp(name, roles[role].name) == 0)
			return role;
	return -EINVAL;
}

/* Where a fault is told. */
struct place {
	const char *file;
	unsigned line;
	struct pr_error *error;
};

#define FAULT(place, format, ...) \
	pr_error_set((place)->error, EINVAL, "%s:%u: " format, (place)->file, (place)->line, ##__VA_ARGS__)

static int parse_colour(const struct place *place, const char *word, bool numbers, int *ret_colour)
{
	static const char bright[] = "bright-";
	size_t skip = strncmp(word, bright, sizeof bright - 1) == 0 ? sizeof bright - 1 : 0;
	if (strcmp(word, "-") == 0) {
		*ret_colour = -1;
		return 0;
	}
	for (size_t i = 0; i < ELEMENTS(colours); i++)
		if (strcmp(word + skip, colours[i]) == 0) {
			*ret_colour = (int)i + (skip ? 8 : 0);
			return 0;
		}
	char *end;
	long number = strtol(word, &end, 10);
	if (*word >= '0' && *word <= '9' && !*end) {
		if (!numbers)
			return FAULT(place, "the part for 16 colours has names of colours, not numbers: %s", word);
		if (number > 255)
			return FAULT(place, "%s is no colour of 256: 0 ... 255", word);
		*ret_colour = (int)number;
		return 0;
	}
	return FAULT(place, "unknown colour %s: - black red green yellow blue magenta cyan white, bright-NAME", word);
}

static int parse_attribute(const struct place *place, const char *word, unsigned *attribute)
{
	for (size_t i = 0; i < ELEMENTS(attributes); i++)
		if (strcmp(word, attributes[i].name) == 0) {
			*attribute |= attributes[i].bit;
			return 0;
		}
	return FAULT(place, "unknown attribute %s: normal bold underline reverse", word);
}

/* Words of a part; `part` is written to. */
static int parse_style(const struct place *place, char *part, enum theme_depth depth, struct style *ret_style)
{
	struct style style = { .foreground = -1, .background = -1 };
	char *rest = part, *word;
	int count = 0, r = 0;
	while (r >= 0 && (word = strsep(&rest, " \t")) != NULL) {
		if (!*word)
			continue;
		if (depth != THEME_MONO && count < 2)
			r = parse_colour(place, word, depth == THEME_256, count == 0 ? &style.foreground : &style.background);
		else
			r = parse_attribute(place, word, &style.attributes);
		count++;
	}
	if (r >= 0 && depth != THEME_MONO && count < 2)
		return FAULT(place, "a style is FG BG [ATTRIBUTE...]");
	if (r >= 0)
		*ret_style = style;
	return r;
}

static bool is_empty(const char *part)
{
	return !part || part[strspn(part, " \t")] == '\0';
}

static void trim(char **text)
{
	*text += strspn(*text, " \t");
	size_t length = strlen(*text);
	while (length > 0 && strchr(" \t\r", (*text)[length - 1]))
		(*text)[--length] = '\0';
}

static int parse_role(const struct place *place, char *line, struct theme *theme)
{
	char *rest = line, *name = strsep(&rest, "|");
	trim(&name);
	int role = role_from_name(name);
	if (role < 0)
		return FAULT(place, "unknown role %s", name);
	if (theme->set[role])
		return FAULT(place, "role %s stands twice", name);
	theme->set[role] = true;
	static const enum theme_depth order[] = { THEME_16, THEME_256, THEME_MONO };
	char *parts[THEME_DEPTH_COUNT] = { NULL };
	for (size_t i = 0; i < ELEMENTS(order); i++)
		parts[order[i]] = strsep(&rest, "|");
	if (rest)
		return FAULT(place, "more than ROLE | 16 colours | 256 colours | mono");
	if (is_empty(parts[THEME_16]))
		return FAULT(place, "role %s has no style for 16 colours", name);
	int r = parse_style(place, parts[THEME_16], THEME_16, &theme->styles[THEME_16][role]);
	if (r >= 0 && is_empty(parts[THEME_256]))
		theme->styles[THEME_256][role] = theme->styles[THEME_16][role];
	else if (r >= 0)
		r = parse_style(place, parts[THEME_256], THEME_256, &theme->styles[THEME_256][role]);
	if (r >= 0 && !is_empty(parts[THEME_MONO]))
		r = parse_style(place, parts[THEME_MONO], THEME_MONO, &theme->styles[THEME_MONO][role]);
	return r;
}

void theme_builtin(struct theme *ret_theme)
{
	*ret_theme = (struct theme){ .name = "default" };
	const struct place nowhere = { .file = "roles.h" };
	for (int role = 0; role < ROLE_COUNT; role++) {
		char colour[64], mono[64];
		snprintf(colour, sizeof colour, "%s", roles[role].colour);
		snprintf(mono, sizeof mono, "%s", roles[role].mono);
		(void)parse_style(&nowhere, colour, THEME_16, &ret_theme->styles[THEME_16][role]);
		(void)parse_style(&nowhere, mono, THEME_MONO, &ret_theme->styles[THEME_MONO][role]);
		ret_theme->styles[THEME_256][role] = ret_theme->styles[THEME_16][role];
	}
}

static int inherit(const struct place *place, const char *name, const struct themes *shipped, struct theme *theme)
{
	for (size_t i = 0; shipped && i < shipped->count; i++)
		if (strcmp(shipped->list[i].name, name) == 0) {
			memcpy(theme->styles, shipped->list[i].styles, sizeof theme->styles);
			return 0;
		}
	return strcmp(name, "default") == 0 ? 0 : FAULT(place, "there is no theme %s to inherit", name);
}

static int parse_line(const struct place *place, char *line, const struct themes *shipped, bool *first, struct theme *theme)
{
	static const char word[] = "inherit";
	line[strcspn(line, "#")] = '\0';
	trim(&line);
	if (!*line)
		return 0;
	bool was_first = *first;
	*first = false;
	if (strncmp(line, word, sizeof word - 1) != 0 || !strchr(" \t", line[sizeof word - 1]) || strchr(line, '|'))
		return parse_role(place, line, theme);
	if (!was_first)
		return FAULT(place, "inherit stands before all roles, once");
	char *name = line + sizeof word - 1;
	trim(&name);
	return inherit(place, name, shipped, theme);
}

int theme_parse(const char *file, const char *text, size_t length, const struct themes *shipped,
		struct theme *ret_theme, struct pr_error *error)
{
	struct theme theme;
	struct place place = { .file = file, .error = error };
	bool first = true;
	_cleanup_free_ char *copy = strndup(text, length);
	if (!copy)
		return pr_error_errno(error, ENOMEM, "reading %s", file);
	theme_builtin(&theme);
	if (strlen(copy) != length)
		return pr_error_set(error, EINVAL, "%s:1: not a text file", file);
	char *rest = copy, *line;
	while ((line = strsep(&rest, "\n")) != NULL) {
		place.line++;
		int r = parse_line(&place, line, shipped, &first, &theme);
		if (r < 0)
			return r;
	}
	*ret_theme = theme;
	return 0;
}

int theme_read(const char *path, const struct themes *shipped, struct theme *ret_theme, struct pr_error *error)
{
	_cleanup_buffer_ struct buffer text = BUFFER_INIT;
	int r = io_read_file(AT_FDCWD, path, THEME_FILE_MAX, &text);
	if (r < 0)
		return pr_error_errno(error, -r, "reading %s", path);
	r = theme_parse(path, text.data ? text.data : "", text.length, shipped, ret_theme, error);
	if (r < 0)
		return r;
	const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
	size_t length = strlen(name), suffix = sizeof SUFFIX - 1;
	if (length > suffix && strcmp(name + length - suffix, SUFFIX) == 0)
		length -= suffix;
	snprintf(ret_theme->name, sizeof ret_theme->name, "%.*s", (int)(length < sizeof ret_theme->name ? length : 0), name);
	return 0;
}

/* Beside the program, or where an installed one has its data: PREFIX/bin, PREFIX/share/proctor/themes. */
static int shipped_directory(char *ret_path, size_t size)
{
	static const char *const places[] = { "themes", "../share/proctor/themes" };
	char program[PATH_MAX];
	ssize_t length = readlink("/proc/self/exe", program, sizeof program - 1);
	if (length < 0)
		return -errno;
	program[length] = '\0';
	char *slash = strrchr(program, '/');
	if (!slash)
		return -ENOENT;
	*slash = '\0';
	for (size_t i = 0; i < ELEMENTS(places); i++)
		if ((size_t)snprintf(ret_path, size, "%s/%s", program, places[i]) < size && access(ret_path, X_OK) == 0)
			return 0;
	return -ENOENT;
}

static int own_path(char *ret_path, size_t size)
{
	const char *config = getenv("XDG_CONFIG_HOME"), *home = getenv("HOME");
	int length = config && config[0] == '/' ? snprintf(ret_path, size, "%s/proctor/theme", config)
		     : home && home[0] == '/'   ? snprintf(ret_path, size, "%s/.config/proctor/theme", home)
						: -1;
	return length > 0 && (size_t)length < size ? 0 : -ENOENT;
}

static int is_theme(const struct dirent *entry)
{
	size_t length = strlen(entry->d_name), suffix = sizeof SUFFIX - 1;
	return entry->d_name[0] != '.' && length > suffix && strcmp(entry->d_name + length - suffix, SUFFIX) == 0;
}

static void keep_fault(struct pr_error *fault, const struct pr_error *error)
{
	if (fault && !fault->code)
		*fault = *error;
}

static void load_directory(const char *directory, struct themes *themes, struct pr_error *fault)
{
	struct dirent **entries;
	int count = scandir(directory, &entries, is_theme, alphasort);
	for (int i = 0; i < count; i++) {
		char path[PATH_MAX];
		struct pr_error error = { 0 };
		struct theme theme;
		int r = (size_t)snprintf(path, sizeof path, "%s/%s", directory, entries[i]->d_name) < sizeof path ? 0 : -ENAMETOOLONG;
		if (r >= 0)
			r = theme_read(path, themes, &theme, &error);
		if (r < 0)
			keep_fault(fault, &error);
		else if (strcmp(theme.name, "default") == 0)
			themes->list[0] = theme;
		else if (themes->count < THEMES_MAX)
			themes->list[themes->count++] = theme;
		free(entries[i]);
	}
	if (count >= 0)
		free(entries);
}

static void load_own(struct themes *themes, struct pr_error *fault)
{
	char path[PATH_MAX];
	struct pr_error error = { 0 };
	struct theme theme;
	if (own_path(path, sizeof path) < 0 || access(path, F_OK) < 0)
		return;
	if (theme_read(path, themes, &theme, &error) < 0) {
		keep_fault(fault, &error);
		return;
	}
	snprintf(theme.name, sizeof theme.name, "own");
	memmove(themes->list + 1, themes->list, themes->count * sizeof *themes->list);
	themes->list[0] = theme;
	themes->count++;
}

int themes_load(const char *directory, struct themes *ret_themes, struct pr_error *fault)
{
	struct themes themes = { .list = calloc(THEMES_MAX + 1, sizeof *themes.list), .count = 1 };
	char path[PATH_MAX];
	if (!themes.list)
		return -ENOMEM;
	theme_builtin(&themes.list[0]);
	if (!directory && shipped_directory(path, sizeof path) >= 0)
		directory = path;
	if (directory)
		load_directory(directory, &themes, fault);
	load_own(&themes, fault);
	*ret_themes = themes;
	return 0;
}

void themes_release(struct themes *themes)
{
	free(themes->list);
	*themes = (struct themes){ 0 };
}
