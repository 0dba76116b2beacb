foreach(name layout canvas keys stop pace views)
  proctor_test(unit tui_full_${name} SOURCES test_tui_full_${name}.c LINK front record base)
endforeach()
