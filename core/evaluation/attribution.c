/* The attribution table, from the one list in attribution.h. Pure data; verdict.c picks the row. */
#include "core/evaluation/attribution.h"

#include "core/base/cleanup.h"

static const struct attribution_row rows[ATTRIBUTION_COUNT] = {
#define X(identifier, id_, status_, reward_, validity_, charged_, cause_, words_, reason_) \
	[identifier] = { .id = id_, .status = status_, .reward = reward_, .validity = validity_, .charged = charged_, \
			 .cause = cause_, .words = words_, .reason = reason_ },
	ATTRIBUTIONS(X)
#undef X
};

const struct attribution_row *attribution_row(enum attribution event)
{
	return &rows[(unsigned)event < ATTRIBUTION_COUNT ? event : ATTRIBUTED_HOST];
}

const char *attribution_status_name(enum attribution_status status)
{
	static const char *const names[] = {
#define X(identifier, name) [identifier] = name,
		ATTRIBUTION_STATUSES(X)
#undef X
	};
	return (unsigned)status < ELEMENTS(names) ? names[status] : "unknown";
}

const char *attribution_party_name(enum attribution_party party)
{
	static const char *const names[] = {
#define X(identifier, name) [identifier] = name,
		ATTRIBUTION_PARTIES(X)
#undef X
	};
	return (unsigned)party < ELEMENTS(names) ? names[party] : NULL;
}
