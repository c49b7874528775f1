---@meta _
-- Bodies and joints, and the keys that define them.

---Keys that all bodies share.
---@class sim2d.BodyDef
---@field position? sim2d.XY m, position of the origin of the shapes; default {0, 0}
---@field angle? number rad, initial angle; default 0
---@field velocity? sim2d.XY m/s, velocity of the centre of mass; default {0, 0}
---@field angular_velocity? number rad/s, initial angular velocity; default 0
---@field mass? number kg, computed from the density and the shapes if it is not given
---@field density? number kg/m^2, default 1; determines the mass if `mass` is not given. A body has either a `density` or a `mass`
---@field inertia? number kg m^2, moment of inertia about the centre of mass; computed from the mass and the shapes if it is not given
---@field restitution? number default 0; coefficient of restitution, 0 to 1
---@field friction? number default 0.5; friction coefficient, at least 0, may exceed 1
---@field linear_damping? number 1/s, default 0; damping of the velocity, dv/dt = -damping v, integrated implicitly
---@field angular_damping? number 1/s, default 0; damping of the angular velocity, integrated implicitly
---@field gravity_scale? number default 1; factor on gravity
---@field surface_speed? number m/s, default 0; speed of a conveyor belt. The surface moves counter-clockwise around the body, so the top of a belt moves to -x if the value is positive
---@field contact_compliance? number m/N, default 0; compliance of each contact point, at most 1e6. 0 means a rigid contact, see soft contacts
---@field contact_damping? number N s/m, default 0; damping in parallel with the compliance of the body. It has no effect if the compliance is 0
---@field contact_viscosity? number N s/m, default 0; coefficient of a drag along the surface at each contact point, in addition to friction. The drag is this value times the sliding speed. A pair uses the sum of the values of its bodies
---@field type? "dynamic"|"static"|"kinematic" default "dynamic"; a "static" body does not move. A "kinematic" body moves with its velocity or as a function of time. Other bodies do not move it, unless its force has a bound
---@field max_force? number N, default math.huge; largest force of a kinematic body, along x and along y. Beyond this force the body yields
---@field max_torque? number N m, default math.huge; largest torque of a kinematic body. Beyond this torque the body yields
---@field name? string name of at most 47 bytes
---@field color? string "#rrggbb", "#rrggbbaa" or a name ("red", "teal", ...); default: a colour from a palette
---@field category? integer default 1; two shapes may touch if the mask of each contains a bit of the other's category
---@field mask? integer bits of the categories that the body may touch
---@field sensor? boolean default false; a sensor reports overlaps but does not push other bodies, see sensors
---@field enabled? boolean default true; if false, the body takes no part in steps and queries
---@field data? any a value for your script

---@class sim2d.CircleDef: sim2d.BodyDef
---@field radius number m

---@class sim2d.BoxDef: sim2d.BodyDef
---@field size sim2d.XY m, full width and height
---@field radius? number m, radius of the corners, which are rounded without changing the size; default 0

---@class sim2d.PolygonDef: sim2d.BodyDef
---@field vertices sim2d.XY[] m, in either orientation; concave outlines are cut into convex pieces
---@field hull? boolean true: the shape is the convex hull of the vertices

---@class sim2d.CapsuleDef: sim2d.BodyDef
---@field length number m, between the centres of the caps, along the body's x axis
---@field radius number m

---@class sim2d.SegmentDef: sim2d.BodyDef
---@field from sim2d.XY m, one end point
---@field to sim2d.XY m, the other end point

---@class sim2d.ChainDef: sim2d.BodyDef
---@field points sim2d.XY[] m, points of the chain, in order
---@field loop? boolean true: a segment joins the last point to the first

---@class sim2d.CompoundDef: sim2d.BodyDef
---@field shapes table[] a table for each shape

---@class sim2d.Body
---@field position sim2d.XY m, position of the centre of mass
---@field angle number rad
---@field velocity sim2d.XY m/s, velocity of the centre of mass
---@field angular_velocity number rad/s
---@field x number m, x coordinate of the centre of mass
---@field y number m
---@field vx number m/s
---@field vy number m/s
---@field omega number rad/s, equal to `angular_velocity`
---@field q number[] {angle, x, y}
---@field v number[] {va, vx, vy}
---@field mass number kg, computed from the density and the shapes if it is not given
---@field inertia number kg m^2, moment of inertia about the centre of mass; computed from the mass and the shapes if it is not given
---@field friction number friction coefficient, at least 0, may exceed 1
---@field restitution number coefficient of restitution, 0 to 1
---@field linear_damping number 1/s, damping of the velocity, dv/dt = -damping v, integrated implicitly
---@field angular_damping number 1/s, damping of the angular velocity, integrated implicitly
---@field gravity_scale number factor on gravity
---@field surface_speed number m/s, speed of a conveyor belt. The surface moves counter-clockwise around the body, so the top of a belt moves to -x if the value is positive
---@field contact_compliance number m/N, compliance of each contact point, at most 1e6. 0 means a rigid contact, see soft contacts
---@field contact_damping number N s/m, damping in parallel with the compliance of the body. It has no effect if the compliance is 0
---@field contact_viscosity number N s/m, coefficient of a drag along the surface at each contact point, in addition to friction. The drag is this value times the sliding speed. A pair uses the sum of the values of its bodies
---@field max_force number N, largest force of a kinematic body, along x and along y. Beyond this force the body yields
---@field max_torque number N m, largest torque of a kinematic body. Beyond this torque the body yields
---@field drive sim2d.Joint? lock that moves a kinematic body whose force or torque is bounded
---@field name string name of at most 47 bytes
---@field type "dynamic"|"static"|"kinematic" a "static" body does not move. A "kinematic" body moves with its velocity or as a function of time. Other bodies do not move it, unless its force has a bound
---@field color string "#rrggbb", "#rrggbbaa" or a name ("red", "teal", ...); default: a colour from a palette
---@field enabled boolean if false, the body takes no part in steps and queries
---@field sensor boolean a sensor reports overlaps but does not push other bodies, see sensors
---@field category integer two shapes may touch if the mask of each contains a bit of the other's category
---@field mask integer bits of the categories that the body may touch
---@field data any a value for your script
---@field world sim2d.World read-only
---@field alive boolean read-only; false if the body was destroyed and no snapshot has restored it
local Body = {}

---Applies a force during the next step only. Forces add up. Static bodies ignore it, and so do kinematic bodies without
---a bound.
---@param force sim2d.XY N
---@param where? { at: sim2d.XY } m, point of application in world coordinates; default: the centre of mass
function Body:apply_force(force, where) end

---Applies a torque during the next step only. Torques add up.
---@param torque number N m
function Body:apply_torque(torque) end

---Applies an impulse, which changes the velocity at once.
---@param impulse sim2d.XY N s
---@param where? { at: sim2d.XY } m, point of application in world coordinates; default: the centre of mass
function Body:apply_impulse(impulse, where) end

---Adds a force law: a continuous, pure function of the state and the time. The engine evaluates it several times in a
---step. The forces of several laws add up. The call raises an error for a static or kinematic body.
---@param fn fun(body: sim2d.Body, t: number, dt: number): number, number, number returns torque, fx, fy (N m, N, N)
---@return sim2d.Handle
function Body:force_law(fn) end

---Moves a kinematic body as a function of time. The pose is exact at the end of each step.
---@param fn fun(t: number): number?, number?, number? returns x, y, angle. A coordinate that is nil continues its motion. If `fn` is nil, the motion ends
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

---Returns the momentum that the stepping method itself added or removed in the last step. Impulses of contacts, joints
---and forces are not included.
---@return number x N s
---@return number y N s
---@return number angular N m s
function Body:net_correction() end

---Removes the body and its joints from the world.
function Body:destroy() end

-- ---- Joint --------------------------------------------------------------------------------------

---A joint. `a` is the first body and `b` the second body; nil stands for the world.
---@class sim2d.Joint
---@field type "hinge"|"weld"|"slider"|"wheel"|"distance"|"spring"|"rope"|"gear"|"lock"|"mouse"|"constraint"|"ground_friction"|"pulley"
---@field name string
---@field a sim2d.Body?
---@field b sim2d.Body?
---@field bodies sim2d.Body[] all bodies of the joint, in order
---@field joint_a sim2d.Joint? first joint of a gear
---@field joint_b sim2d.Joint? second joint of a gear
---@field collide boolean true if the jointed bodies may touch each other
---@field alive boolean false after the joint was destroyed
---@field angle number rad, angle of `a` relative to `b`; settable for hinges. Setting it moves bodies
---@field translation number? m, translation of a slider or wheel along its axis; settable for sliders. Setting it moves bodies
---@field length number? m, length of a distance, spring, rope, mouse or pulley. For distances and pulleys it is settable: this sets the length that is held
---@field speed number rad/s or m/s, speed of the coordinate that the motor acts on. Without a motor it is the rate of change of the length (distances, ropes, pulleys) or of the angle. Settable for hinges, sliders, wheels, springs and ropes. Setting it changes velocities
---@field force sim2d.Vector N, force on `a`, averaged over the last step or substep
---@field torque number N m, torque on `a` about its anchor, averaged over the last step or substep
---@field impulse sim2d.Vector N s, impulse on `a` over the last step or substep
---@field error number m, largest error of rigid equations and limits. Errors of angles are multiplied by the size of the bodies
---@field anchor_a sim2d.Vector m, first anchor in world coordinates
---@field anchor_b sim2d.Vector m, second anchor in world coordinates
---@field axis sim2d.Vector? axis in world coordinates
---@field enabled boolean settable; a lock that is enabled again holds the body where it is
---@field broken boolean true if the joint carried more than `break_force`. Enabling the joint repairs it
---@field break_force number N or N m, settable
---@field limits number[]? {lo, hi}, settable; nil: no limits
---@field restitution number? 0 to 1, settable; restitution at the limits, or of a unilateral constraint
---@field motor_speed number? rad/s or m/s, settable
---@field motor_max number? N m or N, settable; 0 if there is no motor
---@field servo_goal number? rad or m, settable; goal of an actuator of kind "position"
---@field servo_kp number? N m/rad or N/m, settable
---@field servo_kd number? N m s/rad or N s/m, settable
---@field servo_max number? N m or N, settable; largest effort
---@field friction number? N m or N, settable
---@field compliance number? m/N or rad/(N m), settable; nil if the compliance is a matrix
---@field damping number? settable; nil if the damping is a matrix
---@field stiffness number? N/m or N m/rad, settable
---@field quadratic number? N/m^2, settable; quadratic stiffness of a spring
---@field cubic number? N/m^3, settable; cubic stiffness of a spring
---@field rest number? rad or m, settable; rest position of the spring of a hinge or slider
---@field rest_length number? m, settable; rest length of a spring
---@field max_length number? m, settable; maximum length of a rope
---@field ratio number? settable; ratio of a gear. Setting it does not move the bodies
---@field lo number? N or N m, settable; lower bound of a constraint force. Infinite if there is no bound
---@field hi number? N or N m, settable; upper bound of a constraint force
---@field max_force number? N, settable; largest force of ground friction or a lock. math.huge if there is no bound
---@field max_torque number? N m, settable; largest torque of ground friction or a lock
---@field target sim2d.XY? m, settable; target of a mouse
---@field velocity sim2d.XY? m/s, velocity of a lock; settable unless functions move the lock. In that case it is the mean velocity over the last step or substep
---@field angular_velocity number? rad/s, angular velocity of a lock; settable unless functions move the lock
local Joint = {}

---Removes the joint from the world.
function Joint:destroy() end
