#include "rte_ring.h"
