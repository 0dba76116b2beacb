foreach(name value file compile directory output)
  proctor_test(unit round_${name} SOURCES test_round_${name}.c LINK round)
endforeach()
# The probe of E6's guard, beside the law that shows it by a real round.
proctor_test(unit round_output_guarded SOURCES test_round_output.c LINK round GUARDED)
# E1's bounds on result.json and candidate.patch, and their probe.
proctor_test(unit round_evidence SOURCES test_round_evidence.c LINK round test_support GUARDED)
