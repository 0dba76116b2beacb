foreach(name layout canvas keys stop views)
  proctor_test(unit tui_full_${name} SOURCES test_tui_full_${name}.c LINK front record base)
endforeach()
