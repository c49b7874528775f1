---@meta _
-- Bodies and joints, and what makes them.

---Keys all bodies share.
---@class sim2d.BodyDef
---@field position? sim2d.XY m
---@field angle? number
---@field velocity? sim2d.XY m/s, of the centre of mass
---@field angular_velocity? number rad/s
---@field mass? number kg, from density and the shapes where it is not given
---@field density? number kg/m^2, default 1; used where there is no mass
---@field inertia? number kg m^2, about the centre of mass; from the mass and the shapes where it is not given
---@field restitution? number default 0; 0 to 1
---@field friction? number default 0.5; not negative, may exceed 1
---@field linear_damping? number 1/s, default 0; dv/dt = -damping v, taken implicitly
---@field angular_damping? number 1/s, default 0; the same of the turning
---@field gravity_scale? number default 1; gravity acts this many times
---@field surface_speed? number m/s, default 0; of a conveyor belt: the surface runs counter-clockwise around the body, so the top of a belt moves to -x when positive
---@field contact_compliance? number m/N, default 0; up to 1e6, of each contact point, 0: rigid; see soft contacts
---@field contact_damping? number N s/m, default 0; beside the compliance of the body; without one it does nothing
---@field contact_viscosity? number N s/m, default 0; each contact point is dragged along the surface by this times its sliding speed, beside friction. A pair has the sum of both
---@field type? "dynamic"|"static"|"kinematic" default "dynamic"; "static" does not move; "kinematic" moves with its velocity, or as a function of time, unmoved by others, unless its force has a bound
---@field max_force? number N, default math.huge; along x and along y: a kinematic body pushes with no more and yields
---@field max_torque? number N m, default math.huge; it turns with no more
---@field name? string
---@field color? string "#rrggbb", "#rrggbbaa" or a name ("red", "teal", ...); else a palette's
---@field category? integer default 1; two shapes may touch when each one's mask has a bit of the other's category
---@field mask? integer bits of the categories it touches
---@field sensor? boolean default false; tells what it meets and pushes nothing, see sensors
---@field enabled? boolean default true; false: takes no part in steps and queries
---@field data? any the script's own

---@class sim2d.CircleDef: sim2d.BodyDef
---@field radius number m

---@class sim2d.BoxDef: sim2d.BodyDef
---@field size sim2d.XY m, full width and height
---@field radius? number m, of rounded corners

---@class sim2d.PolygonDef: sim2d.BodyDef
---@field vertices sim2d.XY[] m; concave outlines are cut into convex pieces
---@field hull? boolean take the convex hull instead

---@class sim2d.CapsuleDef: sim2d.BodyDef
---@field length number m, between the centres of the caps, along the body's x axis
---@field radius number m

---@class sim2d.SegmentDef: sim2d.BodyDef
---@field from sim2d.XY m
---@field to sim2d.XY m

---@class sim2d.ChainDef: sim2d.BodyDef
---@field points sim2d.XY[] m
---@field loop? boolean

---@class sim2d.CompoundDef: sim2d.BodyDef
---@field shapes table[]

---@class sim2d.Body
---@field position sim2d.XY m, of the centre of mass
---@field angle number
---@field velocity sim2d.XY m/s
---@field angular_velocity number rad/s
---@field x number
---@field y number
---@field vx number
---@field vy number
---@field omega number
---@field q number[] {angle, x, y}
---@field v number[] {va, vx, vy}
---@field mass number kg, from density and the shapes where it is not given
---@field inertia number kg m^2, about the centre of mass; from the mass and the shapes where it is not given
---@field friction number not negative, may exceed 1
---@field restitution number 0 to 1
---@field linear_damping number 1/s, dv/dt = -damping v, taken implicitly
---@field angular_damping number 1/s, the same of the turning
---@field gravity_scale number gravity acts this many times
---@field surface_speed number m/s, of a conveyor belt: the surface runs counter-clockwise around the body, so the top of a belt moves to -x when positive
---@field contact_compliance number m/N, up to 1e6, of each contact point, 0: rigid; see soft contacts
---@field contact_damping number N s/m, beside the compliance of the body; without one it does nothing
---@field contact_viscosity number N s/m, each contact point is dragged along the surface by this times its sliding speed, beside friction. A pair has the sum of both
---@field max_force number N, along x and along y: a kinematic body pushes with no more and yields
---@field max_torque number N m, it turns with no more
---@field drive sim2d.Joint? the lock that moves a kinematic body with a bound
---@field name string
---@field type "dynamic"|"static"|"kinematic" "static" does not move; "kinematic" moves with its velocity, or as a function of time, unmoved by others, unless its force has a bound
---@field color string "#rrggbb", "#rrggbbaa" or a name ("red", "teal", ...); else a palette's
---@field enabled boolean false: takes no part in steps and queries
---@field sensor boolean tells what it meets and pushes nothing, see sensors
---@field category integer two shapes may touch when each one's mask has a bit of the other's category
---@field mask integer bits of the categories it touches
---@field data any
---@field world sim2d.World
---@field alive boolean false once it is destroyed; true again when a snapshot brings it back
local Body = {}

---Acts during the next step, N.
---@param force sim2d.XY
---@param where? { at: sim2d.XY }
function Body:apply_force(force, where) end

---@param torque number N m
function Body:apply_torque(torque) end

---Acts at once, N s.
---@param impulse sim2d.XY
---@param where? { at: sim2d.XY }
function Body:apply_impulse(impulse, where) end

---A continuous force, as a pure function of the state and the time: returns torque, fx, fy. Asked at
---both ends of each step, and in between where bodies meet.
---@param fn fun(body: sim2d.Body, t: number, dt: number): number, number, number
---@return sim2d.Handle
function Body:force_law(fn) end

---Moves a kinematic body: x, y, angle at time t, met exactly at the end of each step. What is nil goes
---on as it does. nil ends it.
---@param fn fun(t: number): number?, number?, number?
function Body:motion(fn) end

---From the body's coordinates to the world's.
---@param point sim2d.XY
---@return sim2d.Vector
function Body:world_point(point) end

---@param point sim2d.XY
---@return sim2d.Vector
function Body:local_point(point) end

---@return number J
function Body:kinetic_energy() end

---@return sim2d.Contact[]
function Body:contacts() end

---All that contacts gave it in the last step: x, y in N s, and about its centre in N m s.
---@return number x
---@return number y
---@return number angular
function Body:net_contact_impulse() end

---What the stepping itself took or gave in the last step, which is no impulse of contacts, joints or forces: x, y in N s, and
---about its centre in N m s.
---@return number x
---@return number y
---@return number angular
function Body:net_correction() end

---Its joints go with it.
function Body:destroy() end

-- ---- Joint --------------------------------------------------------------------------------------

---Fields that a type does not have are nil.
---@class sim2d.Joint
---@field a sim2d.Body?
---@field b sim2d.Body?
---@field bodies sim2d.Body[] all that it joins, in their order
---@field joint_a sim2d.Joint? of a gear
---@field joint_b sim2d.Joint?
---@field name string
---@field type "hinge"|"weld"|"slider"|"wheel"|"distance"|"spring"|"rope"|"gear"|"lock"|"mouse"|"constraint"|"ground_friction"|"pulley"
---@field impulse sim2d.Vector N s, on a, of the last step
---@field force sim2d.Vector N
---@field torque number N m, on a about its anchor
---@field angle number of a against b, zero at creation; of a hinge: may be set, which moves bodies
---@field translation number? m, along the axis; of a slider: may be set, which moves bodies
---@field length number? m, between the anchors; of a distance: settable
---@field speed number rad/s or m/s, of what the motor acts on; of hinges, sliders, wheels, springs and ropes: may be set
---@field limits number[]? {lo, hi}
---@field restitution number? 0 to 1, at the limits
---@field motor_speed number?
---@field motor_max number? N m or N
---@field servo_goal number? rad or m, of an actuator of kind "position"
---@field servo_kp number? N m/rad or N/m
---@field servo_kd number? N m s/rad or N s/m
---@field servo_max number? N m or N
---@field friction number? N m or N
---@field compliance number?
---@field damping number?
---@field stiffness number? N/m
---@field quadratic number? N/m^2, of a spring
---@field cubic number? N/m^3
---@field lo number? N or N m, of constraints
---@field hi number? N or N m, of constraints
---@field rest number? rad or m, of a hinge's or slider's spring
---@field rest_length number? m
---@field max_length number? m
---@field ratio number?
---@field max_force number? N, of ground friction and locks
---@field max_torque number? N m
---@field break_force number N
---@field target sim2d.XY? m, of a mouse
---@field velocity sim2d.XY? m/s, of a lock
---@field angular_velocity number? rad/s, of a lock
---@field enabled boolean
---@field broken boolean
---@field collide boolean
---@field anchor_a sim2d.Vector m, world coordinates
---@field anchor_b sim2d.Vector
---@field axis sim2d.Vector? world coordinates
---@field error number m, of rigid rows and limits
---@field alive boolean false once it is destroyed
local Joint = {}

function Joint:destroy() end
