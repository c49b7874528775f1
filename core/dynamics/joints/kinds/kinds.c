// The table of joint types. Each type's functions are defined in its own file.
#include "dynamics/joints/joint.h"

static const S2JointKind *const kinds[S2_JOINT_TYPE_COUNT] = {
#define S2_JOINT_TYPE(ID, name) [S2_##ID] = &s2_##name##_kind,
#include "dynamics/joints.def"
};

const S2JointKind *s2_joint_kind(S2JointType type) {
  return kinds[type];
}

const char *s2_joint_type_name(S2JointType type) {
  return (unsigned)type < S2_JOINT_TYPE_COUNT ? kinds[type]->traits.name : NULL;
}

const S2JointTraits *s2_joint_traits(S2JointType type) {
  return &kinds[type]->traits;
}
