proctor_test(unit containment_host SOURCES test_containment_host.c LINK containment)
proctor_test(unit containment_request SOURCES test_containment_request.c LINK containment)
proctor_test(unit containment_facts SOURCES test_containment_facts.c LINK containment)
proctor_test(unit containment_limits SOURCES test_containment_limits.c LINK containment)
