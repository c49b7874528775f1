---@meta _
-- Worlds, their fields and methods, and their callbacks.

---Settings of a world. They are also fields of the world.
---@class sim2d.WorldDef
---@field gravity? sim2d.XY m/s^2, default {0, -9.81}
---@field dt? number s, default 1/120; length of a step
---@field solver? "auto"|"closed"|"pdipm"|"lemke"|"newton"|"al"|"ncp"|"nsgs"|"pgs"|"si"|"nncg"|"pcg"|"linear"|"active"|string default "auto"; the method that solves steps, see solvers; also the name of your own solver
---@field contact? "coulomb"|"frictionless"|"convex" default "coulomb"; the friction law of contacts; "convex" is easier to solve, but sliding bodies lift
---@field stepping? "speculative"|"bisect"|"event"|"auto" default "auto"; how steps handle impacts, see kinds of stepping
---@field stabilization? "projection"|"none"|"baumgarte"|"pre"|"post"|"post_assembly" default "projection"; how joint errors and overlaps are corrected, see stabilisations
---@field tolerance? number default 1e-9; a step is solved if its scaled residual is at most this
---@field max_iterations? integer default 100; limit of the interior-point method. The limits of other methods are proportional to it, for example 100 sweeps for each iteration
---@field contact_margin? number m, default 0.01; bodies closer than this are reported as in contact
---@field restitution_model? "newton"|"reflections" default "newton"; with "reflections", impacts travel through bodies that touch
---@field post_stabilization? boolean default true; false is short for stabilization = "none"
---@field alpha? number default 1; implicit blending: the share of the forces at the end of the step
---@field beta? number default 1; the share of the velocity at the end of the step in the motion of the bodies. alpha = beta = 1 damps; alpha = beta = 0.5 with geometric_stiffness = "on" is second order. Rigid joints need beta > 0
---@field formulation? "velocity"|"acceleration"|"variation" default "velocity"; the unknown of the step problem; the choice does not change the trajectory
---@field elasticity? "compliance"|"stiffness" default "compliance"; how springs and compliant joints enter the step problem; the choice does not change the trajectory
---@field geometric_stiffness? "off"|"on"|"psd" default "off"; with "on" and "psd", forces in joints turn with the bodies within the step; with "off", only in steps that are too long for forces of fixed direction
---@field gradient? "exact"|"smooth" default "exact"; the derivative of steps: "exact" covers contacts that act, "smooth" also covers contacts that may act, see gradients
---@field smoothing? number default 0.0001; kappa of smooth derivatives
---@field substeps? integer default 1; each step is divided into this many sub-steps of dt / substeps, see sub-steps
---@field flow? "projected"|"rattle"|"auto" default "auto"; "rattle" makes second-order steps where an island allows them, "projected" never does. "auto" is "rattle" with event stepping unless another setting excludes it, else "projected"
---@field linear_solver? "auto"|"ldlt"|"cholesky"|"cg"|"minres" default "auto"; the method for islands that have joints but no contacts, if solver is "auto", see the linear system
---@field combine_friction? "geometric"|"average"|"multiply"|"min"|"max" default "geometric"; how the friction of a pair follows from its two bodies, see pairs
---@field combine_restitution? "geometric"|"average"|"multiply"|"min"|"max" default "average"; how the restitution of a pair follows from its two bodies
---@field stepping_partial? boolean default false; with stepping = "bisect": a step that had to be halved ends after its first part, short of dt
---@field ncp_kappa? number default 0; with solver = "ncp": the target for impulse times speed at each contact, in place of 0, see ncp
---@field ncp_undercut? number default 5; with solver = "ncp": during the search, the target for kappa stays at or above tolerance / ncp_undercut
---@field profile? boolean default false; true: stats() also measures times; a step of a small world then takes 10 % longer. sim2d --stats sets profile to true
---@field budget? number default math.huge; the work that a step may spend on large islands, see budgets
---@field threads? integer default 1; the number of threads that step large islands in parallel; the results are the same to the last bit, see threads
---@field audit? boolean default false; true: each step is also checked as a whole; --strict makes this the default

---@class sim2d.World: sim2d.WorldDef
---@field gravity sim2d.Vector
---@field time number s, read-only
---@field bodies table<integer|string, sim2d.Body> in creation order, and also keyed by name
---@field joints table<integer|string, sim2d.Joint> in creation order, and also keyed by name
local World = {}

---Makes a disc.
---@param def sim2d.CircleDef
---@return sim2d.Body
function World:circle(def) end

---Makes a rectangle.
---@param def sim2d.BoxDef
---@return sim2d.Body
function World:box(def) end

---Makes a body with any simple outline.
---@param def sim2d.PolygonDef
---@return sim2d.Body
function World:polygon(def) end

---Makes a rectangle with two round ends.
---@param def sim2d.CapsuleDef
---@return sim2d.Body
function World:capsule(def) end

---Makes a straight line, static by default.
---@param def sim2d.SegmentDef
---@return sim2d.Body
function World:segment(def) end

---Makes a line through points, static by default: terrain without collisions at the inner corners.
---@param def sim2d.ChainDef
---@return sim2d.Body
function World:chain(def) end

---Makes one body of several shapes.
---@param def sim2d.CompoundDef
---@return sim2d.Body
function World:compound(def) end

---Keys of all joints.
---@class sim2d.JointDef
---@field collide? boolean true: the jointed bodies may touch each other; default false
---@field break_force? number N (N m for joints that have no force): the joint breaks if it carries more; default math.huge
---@field stabilization? "none"|"baumgarte" how the joint's own error is corrected; default: the setting of the world. Not for mice, ground friction and locks with a bound
---@field name? string

---Keys of joints between two bodies, one of which may be the world.
---@class sim2d.PairDef: sim2d.JointDef
---@field [1] sim2d.Body|"world"|false body a
---@field [2] (sim2d.Body|"world"|false)? body b; default: the world
---@field a? sim2d.Body|"world"|false body a, by key
---@field b? sim2d.Body|"world"|false body b, by key

---Compliances or dampings: one number, one for lengths and one for angles, or a matrix.
---@alias sim2d.Weights number|{ linear?: number, angular?: number }|number[][]

---@class sim2d.HingeDef: sim2d.PairDef
---@field anchor sim2d.XY m, world coordinates
---@field limits? number[] {lo, hi} of the coordinate, rad; either may be nil or infinite
---@field restitution? number 0 to 1, at the limits; default 0
---@field friction? number N m, largest torque of dry friction; default 0
---@field motor? { speed: number, max_torque?: number } rad/s, N m; without a maximum, the motor has no bound
---@field compliance? sim2d.Weights m/N, rad/(N m); default 0, rigid
---@field damping? sim2d.Weights with `compliance`: N s/m, N m s/rad; with `stiffness` or alone: N m s/rad, of the spring
---@field stiffness? number N m/rad, of a spring along the angle, in place of compliance
---@field rest? number rad, the angle at which that spring is at rest; default: the present angle
---@field reference? number rad, value of the angle in the present pose; default 0

---Joins two bodies at a common point, about which they turn.
---@param def sim2d.HingeDef
---@return sim2d.Joint
function World:hinge(def) end

---@class sim2d.WeldDef: sim2d.PairDef
---@field anchor sim2d.XY m, world coordinates
---@field compliance? sim2d.Weights m/N, rad/(N m); default 0, rigid
---@field damping? sim2d.Weights N s/m, N m s/rad, with compliance; default 0

---Joins two bodies rigidly: a common point and the angle are fixed.
---@param def sim2d.WeldDef
---@return sim2d.Joint
function World:weld(def) end

---@class sim2d.SliderDef: sim2d.PairDef
---@field anchor sim2d.XY m, world coordinates
---@field axis sim2d.XY direction in world coordinates, fixed in b
---@field limits? number[] {lo, hi} of the coordinate, m; either may be nil or infinite
---@field restitution? number 0 to 1, at the limits; default 0
---@field friction? number N, largest force of dry friction; default 0
---@field motor? { speed: number, max_force?: number } m/s, N; without a maximum, the motor has no bound
---@field compliance? sim2d.Weights m/N, rad/(N m); default 0, rigid
---@field damping? sim2d.Weights with `compliance`: N s/m, N m s/rad; with `stiffness` or alone: N s/m, of the spring
---@field stiffness? number N/m, of a spring along the axis, in place of compliance
---@field rest? number m, the translation at which that spring is at rest; default: the present translation
---@field reference? number m, value of the translation in the present pose; default 0

---Lets `a` move along a line that is fixed in `b`, without turning relative to `b`.
---@param def sim2d.SliderDef
---@return sim2d.Joint
function World:slider(def) end

---@class sim2d.WheelDef: sim2d.PairDef
---@field anchor sim2d.XY m, world coordinates
---@field axis sim2d.XY direction in world coordinates, fixed in b
---@field limits? number[] {lo, hi} of the translation, m; either may be nil or infinite
---@field restitution? number 0 to 1, at the limits; default 0
---@field friction? number N m, largest torque of dry friction; default 0
---@field motor? { speed: number, max_torque?: number } rad/s, N m; without a maximum, the motor has no bound
---@field stiffness number N/m, of the spring along the axis
---@field damping? number N s/m, of that spring; default 0

---Lets `a` turn freely and move, on a spring, along a line that is fixed in `b`.
---@param def sim2d.WheelDef
---@return sim2d.Joint
function World:wheel(def) end

---@class sim2d.DistanceDef: sim2d.PairDef
---@field anchor_a? sim2d.XY m, world coordinates; default: centre of mass of a
---@field anchor_b? sim2d.XY m, world coordinates; default: centre of mass of b; required if b is the world
---@field length? number m, above 0; default: the present distance
---@field compliance? sim2d.Weights m/N, rad/(N m); default 0, rigid
---@field damping? sim2d.Weights N s/m, N m s/rad, with compliance; default 0

---Fixes the distance between two points.
---@param def sim2d.DistanceDef
---@return sim2d.Joint
function World:distance(def) end

---@class sim2d.SpringDef: sim2d.PairDef
---@field anchor_a? sim2d.XY m, world coordinates; default: centre of mass of a
---@field anchor_b? sim2d.XY m, world coordinates; default: centre of mass of b; required if b is the world
---@field rest_length? number m, default: the present distance
---@field limits? number[] {lo, hi} of the length, m; either may be nil or infinite
---@field restitution? number 0 to 1, at the limits; default 0
---@field friction? number N, largest force of dry friction; default 0
---@field motor? { speed: number, max_force?: number } m/s, N; without a maximum, the motor has no bound
---@field stiffness? number N/m; required unless `force` is given
---@field quadratic? number N/m^2, default 0: at the extension x, the spring pulls with `stiffness * x + quadratic * x^2 + cubic * x^3`
---@field cubic? number N/m^3, default 0
---@field force? fun(x: number): number, number? in place of stiffness, quadratic and cubic: returns the pull, N, and optionally its derivative, N/m
---@field damping? number N s/m, default 0

---Pulls or pushes two points towards a given distance from each other.
---@param def sim2d.SpringDef
---@return sim2d.Joint
function World:spring(def) end

---@class sim2d.RopeDef: sim2d.PairDef
---@field anchor_a? sim2d.XY m, world coordinates; default: centre of mass of a
---@field anchor_b? sim2d.XY m, world coordinates; default: centre of mass of b; required if b is the world
---@field max_length? number m, default: the present distance
---@field restitution? number 0 to 1, when the rope becomes taut; default 0

---Bounds the distance between two points.
---@param def sim2d.RopeDef
---@return sim2d.Joint
function World:rope(def) end

---@class sim2d.PulleyDef: sim2d.PairDef
---@field anchor_a? sim2d.XY m, world coordinates; default: centre of mass of a
---@field anchor_b? sim2d.XY m, world coordinates; default: centre of mass of b; required if b is the world
---@field ground_a sim2d.XY m, world coordinates: the fixed point over which the rope runs on the side of a
---@field ground_b sim2d.XY m, world coordinates: the fixed point on the side of b
---@field ratio? number number of strands on the side of b, default 1
---@field length? number m, default: the present length
---@field limits? number[] {lo, hi} of the length on the side of a, m
---@field restitution? number 0 to 1, at the limits; default 0
---@field compliance? sim2d.Weights m/N; default 0, rigid
---@field damping? sim2d.Weights N s/m, with compliance; default 0

---Leads a rope from `a` over two fixed points to `b`: `|a - ground_a| + ratio |b - ground_b| = length`. The joint holds
---this length, so it also pushes.
---@param def sim2d.PulleyDef
---@return sim2d.Joint
function World:pulley(def) end

---@class sim2d.GearDef: sim2d.JointDef
---@field [1] sim2d.Joint? joint_a
---@field [2] sim2d.Joint? joint_b
---@field joint_a? sim2d.Joint the first joint, by key
---@field joint_b? sim2d.Joint the second joint, by key
---@field ratio? number default 1
---@field compliance? sim2d.Weights m/N, rad/(N m); default 0, rigid
---@field damping? sim2d.Weights N s/m, N m s/rad, with compliance; default 0

---Keeps the coordinate of `joint_a` + `ratio` * the coordinate of `joint_b` constant.
---@param def sim2d.GearDef
---@return sim2d.Joint
function World:gear(def) end

---@class sim2d.LockDef: sim2d.JointDef
---@field [1] sim2d.Body? the body
---@field body? sim2d.Body the body, by key
---@field x? boolean|fun(t: number): number true holds x; a function moves it: m at time t
---@field y? boolean|fun(t: number): number the same for y
---@field angle? boolean|fun(t: number): number the same for the angle, rad
---@field velocity? sim2d.XY|fun(t: number): number?, number?, number? m/s; a function returns va, vx, vy
---@field angular_velocity? number rad/s
---@field compliance? sim2d.Weights m/N, rad/(N m); default 0, rigid
---@field damping? sim2d.Weights N s/m, N m s/rad, with compliance; default 0
---@field max_force? number N, along x and along y; beyond it the lock yields; default math.huge
---@field max_torque? number N m, the same for the angle

---Holds or moves x, y or the angle of a body.
---@param def sim2d.LockDef
---@return sim2d.Joint
function World:lock(def) end

---@class sim2d.MouseDef: sim2d.JointDef
---@field [1] sim2d.Body? the body
---@field body? sim2d.Body the body, by key
---@field target sim2d.XY m, world coordinates
---@field anchor? sim2d.XY m, world coordinates; default: the centre of mass
---@field stiffness number N/m
---@field damping? number N s/m, default 0

---Pulls a point of a body to a target.
---@param def sim2d.MouseDef
---@return sim2d.Joint
function World:mouse(def) end

---@class sim2d.GroundFrictionDef: sim2d.JointDef
---@field [1] sim2d.Body? the body
---@field body? sim2d.Body the body, by key
---@field max_force? number N; default 0
---@field max_torque? number N m; default 0

---Adds dry friction between a body and the ground, in a world that is seen from above.
---@param def sim2d.GroundFrictionDef
---@return sim2d.Joint
function World:ground_friction(def) end

---A function of the poses of all bodies and then the time. If there is one body, the second pose is nil.
---@alias sim2d.PoseFunction fun(qa: sim2d.Vector, qb: sim2d.Vector?, ...): ...

---@class sim2d.ConstraintDef: sim2d.JointDef
---@field bodies sim2d.Body[] one to four bodies
---@field phi? sim2d.PoseFunction returns 1 to 3 numbers (m or rad), one for each row; the constraint keeps them at 0
---@field jacobian? sim2d.PoseFunction returns for each row a list of its derivatives with respect to angle, x, y of each body; default: central differences
---@field hessian? sim2d.PoseFunction returns for each row the matrix of second derivatives, with 3 rows and columns for each body; default: differences
---@field rate? sim2d.PoseFunction|number partial derivative of each row with respect to time, in the unit of the row per second; default: `(phi(t + dt) - phi(t)) / dt`
---@field unilateral? boolean true: phi >= 0, one row, a stop; default false
---@field restitution? number 0 to 1, of a unilateral constraint without compliance: phi leaves 0 at this fraction of the speed at which it reached 0; default 0
---@field velocity_only? boolean true: the rows are jacobian v + rate = 0, and the value of phi is not held; default false
---@field compliance? sim2d.Weights m/N; default 0, rigid. Must be a number for unilateral constraints and for more than two bodies. Not with velocity_only
---@field damping? sim2d.Weights N s/m, in the same forms as `compliance`; default 0
---@field lo? number N or N m, smallest force of the single row jacobian v + rate = 0. `lo` and `hi` are finite; only for one or two bodies
---@field hi? number N or N m, largest force of that row
---@field coupled_to? sim2d.Joint a unilateral constraint of the same bodies in the same order: this row becomes the friction of that constraint
---@field friction? number coefficient of this friction

---Makes a constraint from functions of your script.
---@param def sim2d.ConstraintDef
---@return sim2d.Joint
function World:constraint(def) end

---Turns off contact between two bodies.
---@param a sim2d.Body
---@param b sim2d.Body
function World:no_contact(a, b) end

-- Running

---Advances the world by n steps.
---@param n? integer default 1
function World:step(n) end

---@class sim2d.RunDef
---@field duration? number s, rounded up to whole steps
---@field steps? integer number of steps
---@field until_? fun(world: sim2d.World): boolean called after each step; true ends the run
---@field progress? boolean false shows no progress bar on a terminal

---Steps the world for a duration, for a number of steps, or until a condition holds.
---@param def sim2d.RunDef
---@return integer steps number of steps made
function World:run(def) end

---Iterates over steps: `for t in world:steps(2) do ... end` makes one step in each round. `t` is the time after the step.
---@param duration number s
---@return fun(): number?
function World:steps(duration) end

---Calls fn before each step, for controllers. An error undoes the step.
---@param fn fun(world: sim2d.World, t: number, dt: number)
---@return sim2d.Handle
function World:before_step(fn) end

---Calls fn after each step, after all other callbacks.
---@param fn fun(world: sim2d.World, t: number, dt: number)
---@return sim2d.Handle
function World:after_step(fn) end

---Calls fn periodically in simulated time.
---@param period number s
---@param fn fun(world: sim2d.World, t: number)
---@return sim2d.Handle
function World:every(period, fn) end

---Calls fn once, at a simulated time.
---@param t number s
---@param fn fun(world: sim2d.World, t: number)
---@return sim2d.Handle
function World:at(t, fn) end

---Runs fn as a coroutine in simulated time. Call `sim.wait(s)` in it to wait.
---@param fn fun(world: sim2d.World)
---@return sim2d.Handle
function World:start(fn) end

---@alias sim2d.EventName
---| "contact_begin"
---| "contact_end"
---| "touch_begin"
---| "touch_end"
---| "contact_impulse"
---| "sensor_begin"
---| "sensor_end"
---| "joint_break"
---| "solver_warning"

---@class sim2d.Event
---@field type sim2d.EventName
---@field a? sim2d.Body
---@field b? sim2d.Body
---@field point? sim2d.Vector
---@field normal? sim2d.Vector from b to a
---@field normal_impulse? number N s
---@field tangent_impulse? number N s
---@field impulse? sim2d.Vector N s, on a: both impulses as a vector; of touch_end: the sum over the whole touch
---@field speed? number m/s, with which the bodies met; of contact_begin: speed of approach before the step
---@field joint? sim2d.Joint the joint that broke
---@field force? number N, the force that broke the joint
---@field message? string text of a solver_warning

---Calls fn after the step for each event of this name.
---@param event sim2d.EventName
---@param fn fun(event: sim2d.Event)
---@return sim2d.Handle
function World:on(event, fn) end

---Asks fn whether two bodies may touch, once when they first come near each other. `false` forbids the pair.
---@param fn fun(a: sim2d.Body, b: sim2d.Body): boolean
---@return sim2d.Handle
function World:filter(fn) end

---Lets fn change a contact before it is solved. The contact is valid only during the call.
---@param fn fun(contact: sim2d.PreContact)
---@return sim2d.Handle
function World:pre_solve(fn) end

---@class sim2d.PreContact
---@field a sim2d.Body
---@field b sim2d.Body
---@field point sim2d.Vector
---@field normal sim2d.Vector from b to a
---@field gap number m
---@field friction number
---@field restitution number
---@field surface_speed number m/s
---@field enabled boolean

---@class sim2d.Handle
local Handle = {}

---Ends the registration: the function is no longer called.
function Handle:remove() end

-- Reading

---@class sim2d.Contact
---@field a sim2d.Body
---@field b sim2d.Body
---@field point sim2d.Vector m, position of the contact point at the end of the step
---@field normal sim2d.Vector from b to a, direction in which the impulses acted
---@field gap number m, at the end of the step; negative if the shapes overlap
---@field normal_impulse number N s, on a, sum over the last step
---@field tangent_impulse number N s, on a; the tangent is the normal turned left by 90 degrees
---@field angular_impulse_a number N m s, of both impulses on a about its centre of mass
---@field angular_impulse_b number N m s, of both impulses on b about its centre of mass
---@field sliding boolean the contact carries an impulse, and its friction is at its bound

---Returns the contacts of the last step.
---@return sim2d.Contact[]
function World:contacts() end

---Returns the energy of all bodies. The potential energy of gravity is 0 at the origin. `potential` also includes the
---elastic energy of springs, compliant joints and soft contacts at the end of the last step.
---@return { kinetic: number, potential: number, total: number } energy J
function World:energy() end

---Returns the momentum {angular, x, y}. The angular momentum is about the origin.
---@return sim2d.Momentum
function World:momentum() end

---@class sim2d.Residuals
---@field scaled number largest error of the step problem, as a velocity divided by a typical velocity; compared with `tolerance`
---@field dynamics number N s (N m s), momentum that no impulse explains
---@field complementarity number N s or m/s, the smaller of normal impulse and separating velocity
---@field cone number N s, distance from Coulomb's law
---@field joint number m/s, velocity across joints
---@field joint_error number m, position error of joints after the step; not part of `scaled`
---@field penetration number m, deepest overlap of rigid pairs after the step; not part of `scaled`
---@field passage number m, audit: overlap of a rigid pair within the step, beyond the overlap at its start
---@field jump number m, audit: motion of a body that its velocity and impulses do not explain
---@field momentum number N s, audit: momentum of a body that forces, contacts and joints do not explain
---@field energy number J, audit: energy that bodies gained (> 0) or lost without a cause
---@field distance number m, audit: gap of a pair that an impulse acted on
---@field slip number m, audit: relative motion of surfaces that stick
---@field drift number m/s or rad/s, audit: speed at which a rigid joint's equation changes at the end of the step; the audit reports a drift whose energy exceeds a thousandth of the kinetic energy

---Returns the residuals of the last step, as largest absolute values.
---@return sim2d.Residuals
function World:residuals() end

---Returns counts and times since the world was made.
---@return table<string, any>
function World:stats() end

---A step problem with n moving bodies, m joint rows and c contacts has R = m + 2c rows.
---@class sim2d.Problem
---@field bodies sim2d.Body[] body i has the columns 3i-2 .. 3i (angle, x, y)
---@field M number[][] 3n x 3n mass matrix
---@field rhs number[] 3n momenta without impulses
---@field J number[][] R x 3n Jacobian: joints, then a normal and a tangent row for each contact
---@field C number[] R compliances
---@field bias number[] R velocities
---@field lo number[] R lower bounds of the impulses
---@field hi number[] R upper bounds of the impulses
---@field mu number[] c friction coefficients
---@field E number[][] 2c x c, assigns each direction of friction to its contact
---@field W number[][] R x R Delassus matrix
---@field q number[] R row velocities without impulses
---@field joints integer m
---@field contacts integer c

---The argument of a solver that a script defines.
---@class sim2d.SolverProblem: sim2d.Problem
---@field guess number[] R impulses of the step before
---@field tolerance number
---@field max_iterations integer
---@field velocity_scale number m/s
---@field length number m

---Returns the problem that the next step would solve, as plain tables.
---@return sim2d.Problem
function World:problem() end

---Describes what an input of 1 does: a body or a joint, and one of the other fields.
---@class sim2d.Input
---@field body? sim2d.Body|string
---@field joint? sim2d.Joint
---@field force? number[]|number N, {x, y} on a body; a number along the coordinate of a joint
---@field frame? "body" the force turns with the body
---@field at? sim2d.XY m from the centre of mass, where a force with `frame` acts
---@field torque? number N m
---@field motor_speed? number rad/s or m/s
---@field motor_max? number N m or N
---@field rest? number rad or m, rest coordinate of a joint's spring
---@field goal? number rad or m, goal of a joint's servo

---@class sim2d.LinearizeOptions
---@field inputs? (sim2d.Input|sim2d.Actuator)[]
---@field coordinates? "maximal"|"reduced"|(sim2d.Joint|sim2d.Body)[] default "maximal"

---@class sim2d.Coordinate
---@field body? sim2d.Body
---@field joint? sim2d.Joint
---@field field string "angle", "x", "y", "translation" or "length"

---Returns the next step as a linear map about the present state: x+ = A x + B u. The world does not change.
---@param options? sim2d.LinearizeOptions
---@return sim2d.Array A
---@return sim2d.Array B
---@return sim2d.Coordinate[]? coordinates of a reduced state, which lists their values and then their speeds
function World:linearize(options) end

---Returns the mass matrix of the dynamic bodies, with three columns for each, in the order of `world:state()`.
---@return number[][]
function World:mass_matrix() end

---Returns the matrix that maps (va, vx, vy) to the velocity of a point that moves with the body.
---@param body sim2d.Body
---@param point sim2d.XY m, world coordinates
---@return number[][] jacobian 2 x 3
function World:jacobian(body, point) end

---Selects the bodies that a query finds. If there is no filter, it finds all enabled bodies except sensors.
---@class sim2d.QueryFilter
---@field mask? integer the query finds only bodies whose `category` has one of these bits
---@field category? integer the query finds only bodies whose `mask` has one of these bits
---@field ignore? sim2d.Body|sim2d.Body[] one body or a list of bodies that the query does not find
---@field sensors? boolean true: the query also finds sensors

---@class sim2d.RayHit
---@field body sim2d.Body the body that the ray hits
---@field point sim2d.Vector m, world coordinates
---@field normal sim2d.Vector unit vector, points out of the shape
---@field fraction number 0 at the start of the ray, 1 at its end

---@class sim2d.FanOptions: sim2d.QueryFilter
---@field rays integer number of rays
---@field range number m, length of each ray
---@field angle? number rad, direction of the middle of the fan in the world; default 0
---@field spread? number rad, angle from the first ray to the last; default 2 pi, a whole turn

---Finds the nearest hit on the way from one point to another. A ray that begins on a surface and points inwards hits at
---fraction 0. A ray does not hit a shape that contains its start.
---@param from sim2d.XY
---@param to sim2d.XY
---@param filter? sim2d.QueryFilter
---@return sim2d.RayHit?
function World:raycast(from, to, filter) end

---Finds all bodies on the way, nearest first. Each hit is where the ray first enters the body.
---@param from sim2d.XY
---@param to sim2d.XY
---@param filter? sim2d.QueryFilter
---@return sim2d.RayHit[]
function World:raycast_all(from, to, filter) end

---Casts many rays from one point, like a lidar. For each ray, the lists hold its angle (rad, in the world), its
---distance (m; `range` if it hits nothing) and its hit (false if it hits nothing).
---@param from sim2d.XY
---@param options sim2d.FanOptions
---@return { angles: number[], distances: number[], hits: (sim2d.RayHit|false)[] }
function World:raycast_fan(from, options) end

---Finds the bodies with a shape whose bounding box overlaps the given box.
---@param lo sim2d.XY m, lower left corner
---@param hi sim2d.XY m, upper right corner
---@param filter? sim2d.QueryFilter
---@return sim2d.Body[]
function World:query_aabb(lo, hi, filter) end

---Finds the bodies that contain the point.
---@param point sim2d.XY m, world coordinates
---@param filter? sim2d.QueryFilter
---@return sim2d.Body[]
function World:query_point(point, filter) end

---@class sim2d.Closest
---@field distance number m, negative if the bodies overlap
---@field point_a sim2d.Vector m, the nearest point of the first body
---@field point_b sim2d.Vector m, the nearest point of the second body
---@field normal sim2d.Vector unit vector

---Measures the distance between two bodies and finds their nearest points.
---@param a sim2d.Body
---@param b sim2d.Body
---@return sim2d.Closest
function World:closest(a, b) end

-- State

---Returns a flat list: angle, x, y, and their rates va, vx, vy, of each dynamic body in creation order.
---@return number[]
function World:state() end

---Sets the poses and velocities of all dynamic bodies.
---@param state number[] a list as `world:state()` returns it
function World:set_state(state) end

---Moves bodies so that hinges and sliders have the given coordinates. All joints stay exact.
---@param coordinates table<sim2d.Joint|string, number> rad or m, keyed by joint or by name
function World:set_coordinates(coordinates) end

---Copies the engine's world, bit for bit.
---@return sim2d.Snapshot
function World:snapshot() end

---Restores a snapshot. Callbacks and timers do not change. A clone may restore a snapshot of its original.
---@param snapshot sim2d.Snapshot
function World:restore(snapshot) end

---@class sim2d.Snapshot

---Makes another world in the same state.
---@param def? { callbacks?: boolean, functions?: boolean } what else the clone copies; default: false for both
---@return sim2d.World
function World:clone(def) end

---Moves overlapping bodies apart, as little as possible, weighted by mass.
---@return number overlap m, the largest remaining overlap
function World:resolve_overlaps() end

---Moves the bodies to places where none accelerates from rest by more than the tolerance. Time does not advance, applied
---forces act throughout, and velocities are 0 at the end. The resting places are differentiable, except in a world with
---force laws.
---@param options? { tolerance?: number, max_steps?: integer } `tolerance` in m/s^2, default 1e-6; `max_steps`, default 100000
---@return boolean solved
---@return number residual m/s^2, the largest remaining acceleration
function World:solve_static(options) end

---@class sim2d.DrawOptions
---@field width? integer pixels, default 800
---@field view? { [1]: sim2d.XY, [2]: sim2d.XY } m, two corners; default: all moving bodies
---@field follow? sim2d.Body the view moves with this body
---@field title? string a line above the picture
---@field contacts? boolean false leaves out contact points and impulses
---@field joints? boolean false leaves out joints
---@field names? boolean true writes the names of bodies
---@field legend? boolean false leaves out time, scale and arrows below the picture
---@field dark? boolean true draws light on dark

---@class sim2d.Annotation
---@field line? sim2d.XY[] m, a line through these points
---@field arrow? sim2d.XY[] m, an arrow { from, to }
---@field point? sim2d.XY m, a dot
---@field text? string a text on its own, or at the end of the other element
---@field at? sim2d.XY m, place of a text on its own
---@field color? string "#rrggbb", "#rrggbbaa" or a name
---@field size? number px, width of a line, radius of a dot, or height of a text on its own
---@field name? string keeps the annotation until this name is annotated again or cleared; default: it belongs to the next step

---Draws over pictures, recordings and the live view. It does not change any result.
---@param annotation sim2d.Annotation one of line, arrow, point, text
function World:annotate(annotation) end

---Removes annotations.
---@param name? string default: all annotations
function World:clear_annotations(name) end

---Draws the present world into a file (.svg, .png).
---@param path string
---@param options? sim2d.DrawOptions
---@return true? success
---@return string? message
function World:draw(path, options) end

---Columns of a recording: names in a list ("cart.x", "energy.total"), functions keyed by a name.
---@alias sim2d.Columns { [integer]: string, [string]: fun(world: sim2d.World, t: number): number }

---Options of a recording. Pictures and videos also have the options of `world:draw`.
---@class sim2d.RecordOptions: sim2d.DrawOptions
---@field every? integer records every nth step; default 1
---@field from? number s, earlier frames are left out
---@field to? number s, later frames are left out
---@field trails? boolean | sim2d.Body[] for pictures and videos: bodies whose centres draw a line; true: all moving bodies. Pages accept only true
---@field strobe? number | number[] for pictures: a period, or a list of times, s; the picture shows the world at all of these times
---@field fps? number for videos: frames per second; default 30
---@field speed? number for videos and pages: simulated seconds per second; default 1, 0.1 is slow motion
---@field columns? sim2d.Columns for .csv, .npz, .h5: a table with one row for each time
---@field units? table<string, string> units of columns

---Records the world from now on. The suffix of the path picks the format.
---@param path string
---@param options? sim2d.RecordOptions
---@return sim2d.Recording? recording
---@return string? message
function World:record(path, options) end

---Opens the live viewer and shows this world in it.
---@param options? { pace?: number, port?: integer, wait?: boolean, follow?: sim2d.Body, view?: sim2d.XY[] }
---@return sim2d.View?
---@return string? message
function World:view(options) end

---@class sim2d.View
---@field address string address of the page
local View = {}

---Closes the viewer.
---@return true
function View:close() end

---@class sim2d.Recording
local Recording = {}

---Ends the recording and completes its file.
---@return true? success
---@return string? message
function Recording:close() end

---Shows a plot of the script beside the run (.html, .s2d). The plot replaces an earlier plot of the same name.
---@param plot sim2d.Plot
---@param name? string title of the plot
---@return true? success
---@return string? message
function Recording:plot(plot, name) end

---Closes the recordings of the world and frees it.
function World:close() end

-- ---- Control ------------------------------------------------------------------------------------

---@class sim2d.Actuator
---@field name string
---@field kind "force"|"torque"|"speed"|"position"
---@field joint sim2d.Joint?
---@field body sim2d.Body?
---@field range number[] {lo, hi} of commands
---@field delay number s
---@field value number the last command, clipped
---@field input sim2d.Input effect of a command of 1, as `linearize` takes it
---@field kp number? of kind "position"; settable
---@field kd number? of kind "position"; settable
---@field max_torque number? N m, of a turning joint; settable
---@field max_force number? N, of a sliding joint; settable
---@field implicit boolean? of kind "position"

---@class sim2d.ActuatorDef
---@field [1]? string the name
---@field name? string the name, unless it comes first
---@field kind "force"|"torque"|"speed"|"position"
---@field joint? sim2d.Joint
---@field body? sim2d.Body
---@field direction? sim2d.XY direction of a force on a body
---@field frame? "world"|"body" coordinates of `direction` and `at` of a force on a body; default "world"
---@field at? sim2d.XY m from the centre of mass, where a force with frame = "body" acts; default {0, 0}
---@field range? number[] {lo, hi} of commands; default: none
---@field delay? number s, in whole steps; default 0
---@field kp? number N/m or N m/rad, of kind "position"; default 100
---@field kd? number N s/m or N m s/rad, of kind "position"; default 10
---@field max_torque? number N m, largest effort of kinds "position" and "speed" on a turning joint; default: none
---@field max_force? number N, largest effort of kinds "position" and "speed" on a sliding joint; default: none
---@field implicit? boolean of kind "position", default true: the step solves for the effort at its end, which is stable at any gains

---Declares an input of the world.
---@param def sim2d.ActuatorDef
---@return sim2d.Actuator
function World:actuator(def) end

---Commands all actuators (a list) or some of them (a table keyed by name). A command holds until the next one.
---@param u number[]|table<string, number>
---@return integer clipped number of commands beyond their range
function World:act(u) end

---@class sim2d.ObserveDef
---@field [1]? string the name
---@field name? string the name, unless it comes first
---@field of? sim2d.Body|sim2d.Joint
---@field field? string|string[] fields of `of`
---@field read? fun(world: sim2d.World): ... returns the numbers, in place of `of` and `field`
---@field noise? number standard deviation; default 0

---Declares a named observation.
---@param def sim2d.ObserveDef
function World:observe(def) end

---Returns all observations, as a list in the order of declaration, and also keyed by name.
---@return table
function World:observation() end
