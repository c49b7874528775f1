---@meta _
-- Bodies, joints, and the keys from which they are made.

---Keys that all bodies share.
---@class sim2d.BodyDef
---@field position? sim2d.XY m, where the origin of the shapes is placed; default {0, 0}
---@field angle? number rad, default 0
---@field velocity? sim2d.XY m/s, of the centre of mass; default {0, 0}
---@field angular_velocity? number rad/s, default 0
---@field mass? number kg, computed from density and the shapes if it is not given
---@field density? number kg/m^2, default 1; gives the mass if `mass` is not given. A body has either `density` or `mass`
---@field inertia? number kg m^2, about the centre of mass; computed from the mass and the shapes if it is not given
---@field restitution? number default 0; 0 to 1
---@field friction? number default 0.5; not negative, may exceed 1
---@field linear_damping? number 1/s, default 0; dv/dt = -damping v, implicit
---@field angular_damping? number 1/s, default 0; damping of the angular velocity, implicit
---@field gravity_scale? number default 1; a factor on gravity
---@field surface_speed? number m/s, default 0; of a conveyor belt: the surface moves counter-clockwise around the body, so the top of a belt moves to -x if the value is positive
---@field contact_compliance? number m/N, default 0; of each contact point, up to 1e6; 0 is rigid, see soft contacts
---@field contact_damping? number N s/m, default 0; acts in parallel with the compliance of the body; has no effect if the compliance is 0
---@field contact_viscosity? number N s/m, default 0; a drag along the surface at each contact point, in addition to friction; it is this value times the sliding speed. A pair uses the sum of the values of its bodies
---@field type? "dynamic"|"static"|"kinematic" default "dynamic"; "static" does not move; "kinematic" moves with its velocity, or as a function of time, and other bodies do not move it, unless its force has a bound
---@field max_force? number N, default math.huge; the largest force of a kinematic body, along x and along y; beyond it the body yields
---@field max_torque? number N m, default math.huge; the largest torque of a kinematic body; beyond it the body yields
---@field name? string at most 47 bytes
---@field color? string "#rrggbb", "#rrggbbaa" or a name ("red", "teal", ...); default: from a palette
---@field category? integer default 1; two shapes may touch if the mask of each has a bit of the other one's category
---@field mask? integer the bits of the categories that the body may touch
---@field sensor? boolean default false; reports overlaps and does not push, see sensors
---@field enabled? boolean default true; if false, the body takes no part in steps and queries
---@field data? any a value for your script

---@class sim2d.CircleDef: sim2d.BodyDef
---@field radius number m

---@class sim2d.BoxDef: sim2d.BodyDef
---@field size sim2d.XY m, full width and height
---@field radius? number m, radius of the corners, which are rounded within the size; default 0

---@class sim2d.PolygonDef: sim2d.BodyDef
---@field vertices sim2d.XY[] m, in either orientation; concave outlines are cut into convex pieces
---@field hull? boolean true: the shape is the convex hull of the vertices

---@class sim2d.CapsuleDef: sim2d.BodyDef
---@field length number m, between the centres of the caps, along the body's x axis
---@field radius number m

---@class sim2d.SegmentDef: sim2d.BodyDef
---@field from sim2d.XY m, one end
---@field to sim2d.XY m, the other end

---@class sim2d.ChainDef: sim2d.BodyDef
---@field points sim2d.XY[] m, in order
---@field loop? boolean true: a segment joins the last point to the first

---@class sim2d.CompoundDef: sim2d.BodyDef
---@field shapes table[] one table for each shape

---@class sim2d.Body
---@field position sim2d.XY m, of the centre of mass
---@field angle number rad
---@field velocity sim2d.XY m/s, of the centre of mass
---@field angular_velocity number rad/s
---@field x number m, of the centre of mass
---@field y number m
---@field vx number m/s
---@field vy number m/s
---@field omega number rad/s, the same as angular_velocity
---@field q number[] {angle, x, y}
---@field v number[] {va, vx, vy}
---@field mass number kg, computed from density and the shapes if it is not given
---@field inertia number kg m^2, about the centre of mass; computed from the mass and the shapes if it is not given
---@field friction number not negative, may exceed 1
---@field restitution number 0 to 1
---@field linear_damping number 1/s, dv/dt = -damping v, implicit
---@field angular_damping number 1/s, damping of the angular velocity, implicit
---@field gravity_scale number a factor on gravity
---@field surface_speed number m/s, of a conveyor belt: the surface moves counter-clockwise around the body, so the top of a belt moves to -x if the value is positive
---@field contact_compliance number m/N, of each contact point, up to 1e6; 0 is rigid, see soft contacts
---@field contact_damping number N s/m, acts in parallel with the compliance of the body; has no effect if the compliance is 0
---@field contact_viscosity number N s/m, a drag along the surface at each contact point, in addition to friction; it is this value times the sliding speed. A pair uses the sum of the values of its bodies
---@field max_force number N, the largest force of a kinematic body, along x and along y; beyond it the body yields
---@field max_torque number N m, the largest torque of a kinematic body; beyond it the body yields
---@field drive sim2d.Joint? the lock that moves a kinematic body whose force or torque has a bound
---@field name string at most 47 bytes
---@field type "dynamic"|"static"|"kinematic" "static" does not move; "kinematic" moves with its velocity, or as a function of time, and other bodies do not move it, unless its force has a bound
---@field color string "#rrggbb", "#rrggbbaa" or a name ("red", "teal", ...); default: from a palette
---@field enabled boolean if false, the body takes no part in steps and queries
---@field sensor boolean reports overlaps and does not push, see sensors
---@field category integer two shapes may touch if the mask of each has a bit of the other one's category
---@field mask integer the bits of the categories that the body may touch
---@field data any a value of your script
---@field world sim2d.World read-only
---@field alive boolean read-only; false after the body was destroyed, true again after a snapshot restored it
local Body = {}

---Applies a force during the next step only. Forces add up. Static bodies, and kinematic bodies without a bound, ignore
---it.
---@param force sim2d.XY N
---@param where? { at: sim2d.XY } m, point of application in world coordinates; default: the centre of mass
function Body:apply_force(force, where) end

---Applies a torque during the next step only. Torques add up.
---@param torque number N m
function Body:apply_torque(torque) end

---Changes the velocity at once.
---@param impulse sim2d.XY N s
---@param where? { at: sim2d.XY } m, point of application in world coordinates; default: the centre of mass
function Body:apply_impulse(impulse, where) end

---Adds a continuous force, a pure function of the state and the time, which the engine evaluates several times in a
---step. Several laws add up. The call raises an error for a static or kinematic body.
---@param fn fun(body: sim2d.Body, t: number, dt: number): number, number, number returns torque, fx, fy (N m, N, N)
---@return sim2d.Handle
function Body:force_law(fn) end

---Moves a kinematic body as a function of time. The pose is exact at the end of each step.
---@param fn fun(t: number): number?, number?, number? returns x, y, angle; a coordinate that is nil continues its motion; nil in place of `fn` ends the motion
function Body:motion(fn) end

---Converts a point from the body's frame to world coordinates.
---@param point sim2d.XY
---@return sim2d.Vector
function Body:world_point(point) end

---Converts a point from world coordinates to the body's frame.
---@param point sim2d.XY
---@return sim2d.Vector
function Body:local_point(point) end

---Returns the kinetic energy, which is 0 unless the body is dynamic.
---@return number energy J
function Body:kinetic_energy() end

---Returns the contacts of this body, like `world:contacts()`.
---@return sim2d.Contact[]
function Body:contacts() end

---Returns the total impulse of all contacts on the body in the last step, and its moment about the centre of mass.
---@return number x N s
---@return number y N s
---@return number angular N m s
function Body:net_contact_impulse() end

---Returns the momentum that the stepping itself added or removed in the last step. It does not include impulses
---of contacts, joints or forces.
---@return number x N s
---@return number y N s
---@return number angular N m s
function Body:net_correction() end

---Removes the body and its joints from the world.
function Body:destroy() end

-- ---- Joint --------------------------------------------------------------------------------------

---A joint. `a` is the first body and `b` the second one; nil stands for the world.
---@class sim2d.Joint
---@field type "hinge"|"weld"|"slider"|"wheel"|"distance"|"spring"|"rope"|"gear"|"lock"|"mouse"|"constraint"|"ground_friction"|"pulley"
---@field name string
---@field a sim2d.Body?
---@field b sim2d.Body?
---@field bodies sim2d.Body[] all bodies of the joint, in order
---@field joint_a sim2d.Joint? of a gear
---@field joint_b sim2d.Joint? of a gear
---@field collide boolean the jointed bodies may touch each other
---@field alive boolean false after the joint was destroyed
---@field angle number rad, of a relative to b; settable for hinges; setting it moves bodies
---@field translation number? m, along the axis, of sliders and wheels; settable for sliders; setting it moves bodies
---@field length number? m, of distances, springs, ropes, mice and pulleys; settable for distances and pulleys: the length that is held
---@field speed number rad/s or m/s, the speed of the coordinate that the motor acts on. For distances and ropes it is the speed of the length, for other joints the speed of the angle. Settable for hinges, sliders, wheels, springs and ropes; setting it changes velocities
---@field force sim2d.Vector N, on a, mean over the last step or sub-step
---@field torque number N m, on a about its anchor, mean over the last step or sub-step
---@field impulse sim2d.Vector N s, on a, over the last step or sub-step
---@field error number m, of rigid rows and limits; angles are multiplied by the size of the bodies
---@field anchor_a sim2d.Vector m, present world coordinates
---@field anchor_b sim2d.Vector m, present world coordinates
---@field axis sim2d.Vector? present world coordinates
---@field enabled boolean settable; a lock that is enabled again holds its present place
---@field broken boolean the joint carried more than `break_force`; enabling the joint repairs it
---@field break_force number N or N m, settable
---@field limits number[]? {lo, hi}, settable; nil: no limits
---@field restitution number? 0 to 1, settable; at the limits, or of a unilateral constraint
---@field motor_speed number? rad/s or m/s, settable
---@field motor_max number? N m or N, settable; 0 if there is no motor
---@field servo_goal number? rad or m, settable; goal of an actuator of kind "position"
---@field servo_kp number? N m/rad or N/m, settable
---@field servo_kd number? N m s/rad or N s/m, settable
---@field servo_max number? N m or N, settable; largest effort
---@field friction number? N m or N, settable
---@field compliance number? m/N or rad/(N m), settable; nil if it is a matrix
---@field damping number? settable; nil if it is a matrix
---@field stiffness number? N/m or N m/rad, settable
---@field quadratic number? N/m^2, settable; of springs
---@field cubic number? N/m^3, settable; of springs
---@field rest number? rad or m, settable; of the spring of a hinge or slider
---@field rest_length number? m, settable; of springs
---@field max_length number? m, settable; of ropes
---@field ratio number? settable; of gears; setting it does not move the bodies
---@field lo number? N or N m, settable; of constraints; infinite if there is no bound
---@field hi number? N or N m, settable; of constraints
---@field max_force number? N, settable; of ground friction and locks; math.huge if there is no bound
---@field max_torque number? N m, settable; of ground friction and locks
---@field target sim2d.XY? m, settable; of mice
---@field velocity sim2d.XY? m/s, of locks; settable, unless functions move the lock: then this is the mean velocity over the last step or sub-step
---@field angular_velocity number? rad/s, of locks; settable unless the lock has functions
local Joint = {}

---Removes the joint from the world.
function Joint:destroy() end
