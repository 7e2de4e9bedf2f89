# Which instances of each kernel are compiled. A constant of the kernels (CONSTANT, docs/gpu-api.md) that sizes arrays or loops which are unrolled
# is fixed in an instance: NUMBER=VALUE, 0 is the size of the workgroup. All others are words that the host starts the kernel with. For
# each kernel of a dispatch there must be an instance whose fixed constants are those of the dispatch; tests/unit/cuda holds it for the whole
# conformance table and for what the lowerings can choose beside it.
set(each 0=128)
set(rows 0=32 0=128)
set(instances_conv_direct 0=32)
set(instances_softmax ${rows})
set(instances_norm ${rows})
set(instances_reduce ${rows})
set(instances_order ${rows})
set(instances_conv_matrix_filters 0=32)
set(instances_recurrent 0=32,2=1 0=64,2=1 0=32,2=4 0=64,2=4)
set(instances_matvec 0=128,3=1 0=128,3=2 0=128,3=4 0=128,3=8)
# LOCAL, ROWS, TYPE, and of one row BY_ELEMENTS: with few_kernels lanes are 128 and rows one or eight; types as in module.h.
set(instances_matvec_blocks "")
foreach(type BP_Q8_0 BP_Q4_0 BP_Q4_1 BP_Q5_0 BP_Q5_1 BP_IQ4_NL BP_Q2_K BP_Q3_K BP_Q4_K BP_Q5_K BP_Q6_K BP_IQ4_XS BP_Q8_K)
  file(STRINGS ${PROJECT_SOURCE_DIR}/include/backplane/module.h row REGEX "^    ${type} = [0-9]+")
  string(REGEX REPLACE "^    ${type} = ([0-9]+).*" "\\1" number "${row}")
  list(APPEND instances_matvec_blocks 0=128,3=1,4=${number},5=0 0=128,3=8,4=${number})
endforeach()
# The tiles of choose_tile (common/gpu/ops/tiles.cpp): BM, BN, TM, TN, BK.
set(tiles
  0=64,3=32,4=32,5=4,6=4,7=16 0=64,3=16,4=64,5=4,6=4,7=16 0=256,3=32,4=128,5=4,6=4,7=16
  0=256,3=128,4=128,5=8,6=8,7=16 0=128,3=64,4=128,5=8,6=8,7=16 0=256,3=64,4=64,5=4,6=4,7=16)
set(instances_matmul ${tiles})
set(instances_conv
  0=64,3=32,4=32,5=4,6=4,7=16,8=0 0=64,3=16,4=64,5=4,6=4,7=16,8=0 0=256,3=128,4=128,5=8,6=8,7=16,8=0 0=256,3=64,4=64,5=4,6=4,7=16,8=0)
set(instances_conv_patch 0=256,8=3 0=256,8=5)
# ROWS, KEYS, DEPTH, HELD, WIDTH, RELATIVE (common/gpu/ops/attention_cut.cpp).
set(instances_attention "")
foreach(relative 0 1)
  set(deep 16)
  if(relative)
    set(deep 8)
  endif()
  list(APPEND instances_attention
    0=128,1=4,2=512,3=8,4=64,5=64,6=${relative} 0=128,1=4,2=512,3=8,4=32,5=128,6=${relative} 0=128,1=4,2=512,3=8,4=16,5=256,6=${relative}
    0=256,1=64,2=64,3=16,4=32,5=64,6=${relative} 0=256,1=64,2=64,3=16,4=16,5=128,6=${relative}
    0=128,1=32,2=64,3=${deep},4=16,5=64,6=${relative} 0=128,1=32,2=64,3=${deep},4=8,5=128,6=${relative} 0=128,1=32,2=64,3=${deep},4=4,5=256,6=${relative})
endforeach()
# ROWS, KEYS, DEPTH, WIDTH, RELATIVE.
set(instances_attention_matrix 0=128,1=64,2=64,3=64,4=64,5=0 0=128,1=64,2=32,3=128,4=128,5=0
  0=128,1=64,2=64,3=64,4=64,5=1,shared=57344 0=128,1=64,2=32,3=128,4=128,5=1,shared=65536)
# ROWS, KEYS, DEPTH, WIDTH, RELATIVE.
set(instances_attention_warpgroup 0=384,1=128,2=128,3=64,4=64,5=0,shared=83200 0=384,1=128,2=128,3=128,4=128,5=0,shared=165120
  0=384,1=128,2=64,3=64,4=64,5=1,shared=91392 0=384,1=128,2=64,3=128,4=128,5=1,shared=181504)
# TILES_DOWN, TILES_ACROSS, WARPS_DOWN, BK, STAGES, TRANSPOSE_A, TRANSPOSE_B (common/gpu/ops/matmul.cpp).
set(instances_matmul_matrix "")
foreach(tile 0=128,3=4,4=4,5=2,6=32,7=3 0=256,3=4,4=2,5=2,6=32,7=2 0=128,3=4,4=2,5=2,6=64,7=2 0=128,3=2,4=2,5=2,6=64,7=3 0=128,3=2,4=1,5=2,6=64,7=3)
  foreach(turned 8=0,9=0 8=0,9=1 8=1,9=0 8=1,9=1)
    list(APPEND instances_matmul_matrix ${tile},${turned})
  endforeach()
endforeach()
# Floats in parts, heads of 64s: ROWS, KEYS, DEPTH, WIDTH, TILES (common/gpu/ops/attention_cut.cpp).
set(instances_attention_parts
  0=256,1=256,2=32,3=64,4=64,5=2,shared=98448 0=256,1=128,2=64,3=64,4=64,5=1,shared=98448
  0=256,1=64,2=32,3=64,4=64,5=1,shared=82064 0=256,1=32,2=16,3=64,4=64,5=1,shared=73872
  0=128,1=64,2=16,3=128,4=128,5=1,shared=65616)
set(instances_attention_parts_relative
  0=256,1=128,2=32,3=64,4=64,5=1,shared=147600 0=256,1=64,2=32,3=64,4=64,5=1,shared=147600 0=256,1=64,2=16,3=128,4=128,5=1,shared=196752)
# KEYS, DEPTH, WIDTH.
set(instances_attention_parts_few 0=256,1=16,2=64,3=64 0=256,1=32,2=64,3=64 0=256,1=16,2=128,3=128,shared=69632)
# DOWN, ACROSS, WARPS_DOWN, BK, STAGES, TRANSPOSE_A, TRANSPOSE_B: the larger tile alone and not both turned, which is 0.1 MB of the module of all architectures.
set(instances_matmul_parts "")
foreach(turned 8=0,9=0 8=0,9=1 8=1,9=0)
  list(APPEND instances_matmul_parts 0=128,3=2,4=1,5=2,6=32,7=2,${turned})
endforeach()
# BN, STAGES (common/gpu/ops/matmul.cpp).
set(instances_matmul_warpgroup "")
foreach(tile 3=256,4=4 3=128,4=6 3=64,4=8)
  list(APPEND instances_matmul_warpgroup 0=384,${tile},shared=199680)
endforeach()
# The same of tiles whose depth PARTS workgroups share.
set(instances_matmul_warpgroup_split "")
foreach(parts 2 4 8)
  list(APPEND instances_matmul_warpgroup_split 0=384,3=64,4=6,7=${parts},shared=181376)
endforeach()
list(APPEND instances_matmul_warpgroup_split 0=384,3=128,4=5,7=2,shared=230480)
# KERNEL_H, STAGES (common/gpu/ops/conv.cpp).
set(instances_conv_warpgroup 0=384,3=1,4=12,shared=222400 0=384,3=3,4=8,shared=214144 0=384,3=5,4=6,shared=210016)
# KERNEL, STAGES, FILTER_STAGES.
set(instances_conv_warpgroup_bundles 0=384,3=1,4=5,6=8,shared=230608 0=384,3=3,4=3,6=4,shared=221296 0=384,3=5,4=2,6=4,shared=226400)
# TILES, DOWN, ROWS_OF_WARP, COLUMNS_OF_WARP, ACROSS, KERNEL, DEPTH, KERNEL_H (common/gpu/ops/conv.cpp).
set(instances_conv_matrix "")
foreach(kernel 1 3 5 7)
  foreach(tile 0=128,3=1,4=1,5=1,6=32,7=4,9=2 0=128,3=2,4=1,5=1,6=32,7=4,9=2 0=128,3=4,4=1,5=1,6=16,7=4,9=2 0=256,3=4,4=1,5=1,6=32,7=8,9=1)
    list(APPEND instances_conv_matrix ${tile},8=${kernel},11=1)
  endforeach()
endforeach()
foreach(kernel 3 5)
  foreach(tile 0=128,3=1,4=1,5=4,6=16,7=2,9=1 0=128,3=2,4=1,5=4,6=16,7=2,9=1)
    list(APPEND instances_conv_matrix ${tile},8=${kernel},11=${kernel})
  endforeach()
endforeach()
list(APPEND instances_conv_matrix 0=256,3=2,4=2,5=4,6=16,7=2,9=1,8=5,11=5 0=128,3=4,4=1,5=2,6=32,7=1,9=1,8=3,11=3)
# What no lowering asks for on these devices (can.software, can.matrices, can.workgroup_matrices).
set(without attention_tiles conv_transpose_direct_f32 conv_transpose_direct_f16 conv_transpose_direct_f32_by_f16 conv_coop_f16 conv_transpose_coop_f16 matmul_workgroup
  attention_workgroup)
