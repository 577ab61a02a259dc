typedef int kernels_room_is_empty;
