---@meta _
-- Worlds, their fields and methods, and their callbacks.

---Settings of a world. They are also fields of the world.
---@class sim2d.WorldDef
---@field gravity? sim2d.XY m/s^2, default {0, -9.81}
---@field dt? number s, default 1/120; length of a step
---@field solver? "auto"|"closed"|"pdipm"|"lemke"|"newton"|"al"|"ncp"|"nsgs"|"pgs"|"si"|"nncg"|"pcg"|"linear"|"active"|string default "auto"; the method that solves steps, see solvers; also the name of your own solver
---@field contact? "coulomb"|"frictionless"|"convex" default "coulomb"; the friction law of contacts; "convex" is easier to solve, but sliding bodies lift
---@field stepping? "speculative"|"bisect"|"event"|"auto" default "auto"; handling of impacts within steps, see kinds of stepping
---@field stabilization? "projection"|"none"|"baumgarte"|"pre"|"post"|"post_assembly" default "projection"; correction of joint errors and overlaps, see stabilisations
---@field tolerance? number default 1e-9; a step counts as solved if its scaled residual is at most this value
---@field max_iterations? integer default 100; iteration limit of the interior-point method. The limits of other methods are proportional to it, for example 100 sweeps for each iteration
---@field contact_margin? number m, default 0.01; bodies closer than this are reported as being in contact
---@field restitution_model? "newton"|"reflections" default "newton"; with "reflections", impacts travel through bodies that touch
---@field post_stabilization? boolean default true; false is equivalent to stabilization = "none"
---@field alpha? number default 1; implicit blending: weight of the forces at the end of the step
---@field beta? number default 1; implicit blending: weight of the velocity at the end of the step. alpha = beta = 1 damps the motion. alpha = beta = 0.5 with geometric_stiffness = "on" is second order. Rigid joints need beta > 0
---@field formulation? "velocity"|"acceleration"|"variation" default "velocity"; unknown of the step problem. The choice does not change the trajectory
---@field elasticity? "compliance"|"stiffness" default "compliance"; form in which springs and compliant joints enter the step problem. The choice does not change the trajectory
---@field geometric_stiffness? "off"|"on"|"psd" default "off"; with "on" and "psd", forces in joints turn with the bodies within the step. With "off", they do so only in steps that are too long for forces of fixed direction
---@field gradient? "exact"|"smooth" default "exact"; derivative of steps. "exact" covers the contacts that act, and "smooth" also covers contacts that may act, see gradients
---@field smoothing? number default 0.0001; kappa of smooth derivatives
---@field substeps? integer default 1; number of substeps of length dt / substeps in each step, see sub-steps
---@field flow? "projected"|"rattle"|"auto" default "auto"; "rattle" makes second-order steps in islands that allow them, "projected" never does. With event stepping, "auto" means "rattle" unless another setting excludes it; otherwise it means "projected"
---@field linear_solver? "auto"|"ldlt"|"cholesky"|"cg"|"minres" default "auto"; method for islands that have joints but no contacts, if solver is "auto", see the linear system
---@field combine_friction? "geometric"|"average"|"multiply"|"min"|"max" default "geometric"; rule that gives the friction of a pair from the values of its bodies, see pairs
---@field combine_restitution? "geometric"|"average"|"multiply"|"min"|"max" default "average"; rule that gives the restitution of a pair from the values of its bodies
---@field stepping_partial? boolean default false; with stepping = "bisect": if true, a step that has to be halved ends after its first part, before dt
---@field ncp_kappa? number default 0; with solver = "ncp": target for impulse times speed at each contact, see ncp
---@field ncp_undercut? number default 5; with solver = "ncp": the target for kappa stays at or above tolerance / ncp_undercut during the search
---@field profile? boolean default false; if true, stats() also measures times, and a step of a small world takes 10 % longer. sim2d --stats sets profile to true
---@field budget? number default math.huge; limit of the work that a step may spend on large islands, see budgets
---@field threads? integer default 1; number of threads that step large islands in parallel, see threads. The results do not depend on it, to the last bit
---@field audit? boolean default false; if true, each step is also checked as a whole. --strict makes this the default

---@class sim2d.World: sim2d.WorldDef
---@field gravity sim2d.Vector
---@field time number s, simulated time, read-only
---@field bodies table<integer|string, sim2d.Body> bodies in creation order, and also keyed by name
---@field joints table<integer|string, sim2d.Joint> joints in creation order, and also keyed by name
local World = {}

---Makes a disc.
---@param def sim2d.CircleDef
---@return sim2d.Body
function World:circle(def) end

---Makes a rectangle.
---@param def sim2d.BoxDef
---@return sim2d.Body
function World:box(def) end

---Makes a body from an outline of any shape that does not cross itself.
---@param def sim2d.PolygonDef
---@return sim2d.Body
function World:polygon(def) end

---Makes a capsule: a rectangle with two round ends.
---@param def sim2d.CapsuleDef
---@return sim2d.Body
function World:capsule(def) end

---Makes a straight line, static by default.
---@param def sim2d.SegmentDef
---@return sim2d.Body
function World:segment(def) end

---Makes a line through points, static by default. Bodies slide over its inner corners without colliding with them, as
---needed for terrain.
---@param def sim2d.ChainDef
---@return sim2d.Body
function World:chain(def) end

---Makes one body from several shapes.
---@param def sim2d.CompoundDef
---@return sim2d.Body
function World:compound(def) end

---Keys of all joints.
---@class sim2d.JointDef
---@field collide? boolean true: the jointed bodies may touch each other; default false
---@field break_force? number N, or N m for joints that have no force; the joint breaks if it carries more. Default math.huge
---@field stabilization? "none"|"baumgarte" correction of this joint's error; default: the setting of the world. Mice, ground friction and locks with a bound do not have this key
---@field name? string

---Keys of joints between two bodies, one of which may be the world.
---@class sim2d.PairDef: sim2d.JointDef
---@field [1] sim2d.Body|"world"|false first body (`a`)
---@field [2] (sim2d.Body|"world"|false)? second body (`b`); default: the world
---@field a? sim2d.Body|"world"|false first body, given by key
---@field b? sim2d.Body|"world"|false second body, given by key

---Compliances or dampings. They are one number, or a number for lengths and one for angles, or a matrix.
---@alias sim2d.Weights number|{ linear?: number, angular?: number }|number[][]

---@class sim2d.HingeDef: sim2d.PairDef
---@field anchor sim2d.XY m, common point in world coordinates
---@field limits? number[] {lo, hi} of the angle, rad; either number may be nil or infinite
---@field restitution? number 0 to 1, restitution at the limits; default 0
---@field friction? number N m, largest torque of dry friction; default 0
---@field motor? { speed: number, max_torque?: number } rad/s and N m; if there is no `max_torque`, the torque has no bound
---@field compliance? sim2d.Weights m/N and rad/(N m); default 0, which is rigid
---@field damping? sim2d.Weights with `compliance`: N s/m and N m s/rad; with `stiffness` or alone: damping of the spring, N m s/rad
---@field stiffness? number N m/rad, stiffness of a spring on the angle, instead of `compliance`
---@field rest? number rad, rest angle of that spring; default: the present angle
---@field reference? number rad, value of the angle in the present pose; default 0

---Joins two bodies at a common point, about which they turn.
---@param def sim2d.HingeDef
---@return sim2d.Joint
function World:hinge(def) end

---@class sim2d.WeldDef: sim2d.PairDef
---@field anchor sim2d.XY m, common point in world coordinates
---@field compliance? sim2d.Weights m/N and rad/(N m); default 0, which is rigid
---@field damping? sim2d.Weights N s/m and N m s/rad, only with `compliance`; default 0

---Joins two bodies rigidly: a common point and the angle are fixed.
---@param def sim2d.WeldDef
---@return sim2d.Joint
function World:weld(def) end

---@class sim2d.SliderDef: sim2d.PairDef
---@field anchor sim2d.XY m, common point in world coordinates
---@field axis sim2d.XY direction in world coordinates, fixed in b
---@field limits? number[] {lo, hi} of the translation, m; either number may be nil or infinite
---@field restitution? number 0 to 1, restitution at the limits; default 0
---@field friction? number N, largest force of dry friction; default 0
---@field motor? { speed: number, max_force?: number } m/s and N; if there is no `max_force`, the force has no bound
---@field compliance? sim2d.Weights m/N and rad/(N m); default 0, which is rigid
---@field damping? sim2d.Weights with `compliance`: N s/m and N m s/rad; with `stiffness` or alone: damping of the spring, N s/m
---@field stiffness? number N/m, stiffness of a spring along the axis, instead of `compliance`
---@field rest? number m, rest translation of that spring; default: the present translation
---@field reference? number m, value of the translation in the present pose; default 0

---Lets `a` move along a line that is fixed in `b`, without turning relative to `b`.
---@param def sim2d.SliderDef
---@return sim2d.Joint
function World:slider(def) end

---@class sim2d.WheelDef: sim2d.PairDef
---@field anchor sim2d.XY m, common point in world coordinates
---@field axis sim2d.XY direction in world coordinates, fixed in b
---@field limits? number[] {lo, hi} of the translation, m; either number may be nil or infinite
---@field restitution? number 0 to 1, restitution at the limits; default 0
---@field friction? number N m, largest torque of dry friction; default 0
---@field motor? { speed: number, max_torque?: number } rad/s and N m; if there is no `max_torque`, the torque has no bound
---@field stiffness number N/m, stiffness of the spring along the axis
---@field damping? number N s/m, damping of that spring; default 0

---Lets `a` turn freely, and move on a spring along a line that is fixed in `b`.
---@param def sim2d.WheelDef
---@return sim2d.Joint
function World:wheel(def) end

---@class sim2d.DistanceDef: sim2d.PairDef
---@field anchor_a? sim2d.XY m, anchor in world coordinates; default: centre of mass of `a`
---@field anchor_b? sim2d.XY m, anchor in world coordinates; default: centre of mass of `b`. Required if `b` is the world
---@field length? number m, above 0; default: the present distance
---@field compliance? sim2d.Weights m/N and rad/(N m); default 0, which is rigid
---@field damping? sim2d.Weights N s/m and N m s/rad, only with `compliance`; default 0

---Fixes the distance between two points.
---@param def sim2d.DistanceDef
---@return sim2d.Joint
function World:distance(def) end

---@class sim2d.SpringDef: sim2d.PairDef
---@field anchor_a? sim2d.XY m, anchor in world coordinates; default: centre of mass of `a`
---@field anchor_b? sim2d.XY m, anchor in world coordinates; default: centre of mass of `b`. Required if `b` is the world
---@field rest_length? number m, rest length; default: the present distance
---@field limits? number[] {lo, hi} of the length, m; either number may be nil or infinite
---@field restitution? number 0 to 1, restitution at the limits; default 0
---@field friction? number N, largest force of dry friction; default 0
---@field motor? { speed: number, max_force?: number } m/s and N; if there is no `max_force`, the force has no bound
---@field stiffness? number N/m; required unless `force` is given
---@field quadratic? number N/m^2, default 0; at the extension x, the spring pulls with the force `stiffness * x + quadratic * x^2 + cubic * x^3`
---@field cubic? number N/m^3, default 0
---@field force? fun(x: number): number, number? instead of `stiffness`, `quadratic` and `cubic`: returns the pulling force (N) and optionally its derivative (N/m)
---@field damping? number N s/m, default 0

---Pulls or pushes two points towards a given distance.
---@param def sim2d.SpringDef
---@return sim2d.Joint
function World:spring(def) end

---@class sim2d.RopeDef: sim2d.PairDef
---@field anchor_a? sim2d.XY m, anchor in world coordinates; default: centre of mass of `a`
---@field anchor_b? sim2d.XY m, anchor in world coordinates; default: centre of mass of `b`. Required if `b` is the world
---@field max_length? number m, maximum length; default: the present distance
---@field restitution? number 0 to 1, restitution when the rope becomes taut; default 0

---Bounds the distance between two points from above.
---@param def sim2d.RopeDef
---@return sim2d.Joint
function World:rope(def) end

---@class sim2d.PulleyDef: sim2d.PairDef
---@field anchor_a? sim2d.XY m, anchor in world coordinates; default: centre of mass of `a`
---@field anchor_b? sim2d.XY m, anchor in world coordinates; default: centre of mass of `b`. Required if `b` is the world
---@field ground_a sim2d.XY m, world coordinates of the fixed point over which the rope runs on the side of `a`
---@field ground_b sim2d.XY m, world coordinates of the fixed point on the side of `b`
---@field ratio? number number of strands on the side of `b`; default 1
---@field length? number m, length of the rope; default: the present length
---@field limits? number[] {lo, hi} of the length on the side of `a`, m
---@field restitution? number 0 to 1, restitution at the limits; default 0
---@field compliance? sim2d.Weights m/N; default 0, which is rigid
---@field damping? sim2d.Weights N s/m, only with `compliance`; default 0

---Leads a rope from `a` over two fixed points to `b`: `|a - ground_a| + ratio |b - ground_b| = length`. The joint holds
---this length, so it also pushes.
---@param def sim2d.PulleyDef
---@return sim2d.Joint
function World:pulley(def) end

---@class sim2d.GearDef: sim2d.JointDef
---@field [1] sim2d.Joint? joint_a
---@field [2] sim2d.Joint? joint_b
---@field joint_a? sim2d.Joint first joint, given by key
---@field joint_b? sim2d.Joint second joint, given by key
---@field ratio? number default 1
---@field compliance? sim2d.Weights m/N and rad/(N m); default 0, which is rigid
---@field damping? sim2d.Weights N s/m and N m s/rad, only with `compliance`; default 0

---Keeps the coordinate of `joint_a` + `ratio` * the coordinate of `joint_b` constant.
---@param def sim2d.GearDef
---@return sim2d.Joint
function World:gear(def) end

---@class sim2d.LockDef: sim2d.JointDef
---@field [1] sim2d.Body? the body
---@field body? sim2d.Body the body, given by key
---@field x? boolean|fun(t: number): number true holds x; a function moves x and returns its value at time t, m
---@field y? boolean|fun(t: number): number true holds y; a function moves it, m
---@field angle? boolean|fun(t: number): number true holds the angle; a function moves it, rad
---@field velocity? sim2d.XY|fun(t: number): number?, number?, number? m/s; a function returns va, vx, vy
---@field angular_velocity? number rad/s
---@field compliance? sim2d.Weights m/N and rad/(N m); default 0, which is rigid
---@field damping? sim2d.Weights N s/m and N m s/rad, only with `compliance`; default 0
---@field max_force? number N, largest force along x and along y, beyond which the lock yields; default math.huge
---@field max_torque? number N m, largest torque, beyond which the lock yields; default math.huge

---Holds or moves x, y or the angle of a body.
---@param def sim2d.LockDef
---@return sim2d.Joint
function World:lock(def) end

---@class sim2d.MouseDef: sim2d.JointDef
---@field [1] sim2d.Body? the body
---@field body? sim2d.Body the body, given by key
---@field target sim2d.XY m, target in world coordinates
---@field anchor? sim2d.XY m, point of the body in world coordinates; default: the centre of mass
---@field stiffness number N/m
---@field damping? number N s/m, default 0

---Pulls a point of a body to a target.
---@param def sim2d.MouseDef
---@return sim2d.Joint
function World:mouse(def) end

---@class sim2d.GroundFrictionDef: sim2d.JointDef
---@field [1] sim2d.Body? the body
---@field body? sim2d.Body the body, given by key
---@field max_force? number N; default 0
---@field max_torque? number N m; default 0

---Adds dry friction between a body and the ground, in a world seen from above.
---@param def sim2d.GroundFrictionDef
---@return sim2d.Joint
function World:ground_friction(def) end

---A function of the poses of all bodies and of the time. If there is only one body, the second pose is nil.
---@alias sim2d.PoseFunction fun(qa: sim2d.Vector, qb: sim2d.Vector?, ...): ...

---@class sim2d.ConstraintDef: sim2d.JointDef
---@field bodies sim2d.Body[] one to four bodies
---@field phi? sim2d.PoseFunction returns 1 to 3 numbers (m or rad), one for each row. The constraint keeps them at 0
---@field jacobian? sim2d.PoseFunction returns for each row a list of its derivatives with respect to the angle, x and y of each body; default: central differences
---@field hessian? sim2d.PoseFunction returns for each row the matrix of second derivatives, with 3 rows and columns for each body; default: finite differences
---@field rate? sim2d.PoseFunction|number partial derivative of each row with respect to time, in the unit of the row per second; default: `(phi(t + dt) - phi(t)) / dt`
---@field unilateral? boolean true: the constraint is a stop with one row, phi >= 0; default false
---@field restitution? number 0 to 1, for a unilateral constraint without compliance. phi leaves 0 at this fraction of the speed at which it reached 0; default 0
---@field velocity_only? boolean true: the rows are jacobian v + rate = 0, and the value of phi is not kept at 0; default false
---@field compliance? sim2d.Weights m/N; default 0, which is rigid. It must be a number for unilateral constraints and for more than two bodies. It cannot be combined with `velocity_only`
---@field damping? sim2d.Weights N s/m, in the forms of `compliance`; default 0
---@field lo? number N or N m, smallest force of the row jacobian v + rate = 0, which must be the only row. `lo` and `hi` must be finite, and the constraint must have one or two bodies
---@field hi? number N or N m, largest force of that row
---@field coupled_to? sim2d.Joint a unilateral constraint of the same bodies in the same order, whose friction this row becomes
---@field friction? number coefficient of that friction

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
---@param n? integer number of steps; default 1
function World:step(n) end

---@class sim2d.RunDef
---@field duration? number s, duration, rounded up to whole steps
---@field steps? integer number of steps
---@field until_? fun(world: sim2d.World): boolean function called after each step; if it returns true, the run ends
---@field progress? boolean false hides the progress bar on a terminal

---Steps the world for a duration, for a number of steps, or until a condition holds.
---@param def sim2d.RunDef
---@return integer steps number of steps that were made
function World:run(def) end

---Iterates over steps: `for t in world:steps(2) do ... end` makes one step in each iteration. `t` is the time after the
---step.
---@param duration number s
---@return fun(): number?
function World:steps(duration) end

---Calls fn before each step, for example for a controller. If fn raises an error, the step is undone.
---@param fn fun(world: sim2d.World, t: number, dt: number)
---@return sim2d.Handle
function World:before_step(fn) end

---Calls fn after each step, when all other callbacks have run.
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

---Runs fn as a coroutine in simulated time. Within fn, call `sim.wait(s)` to wait.
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
---@field normal? sim2d.Vector unit vector from `b` to `a`
---@field normal_impulse? number N s
---@field tangent_impulse? number N s
---@field impulse? sim2d.Vector N s, sum of both impulses on `a` as a vector. For touch_end it is the sum over the whole touch
---@field speed? number m/s, speed with which the bodies met. For contact_begin it is the speed of approach before the step
---@field joint? sim2d.Joint the joint that broke
---@field force? number N, the force that broke the joint
---@field message? string text of a solver_warning

---Calls fn after the step for each event with this name.
---@param event sim2d.EventName
---@param fn fun(event: sim2d.Event)
---@return sim2d.Handle
function World:on(event, fn) end

---Asks fn whether two bodies may touch. It calls fn once, when the bodies first come near each other. If fn returns
---false, they cannot touch.
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
---@field normal sim2d.Vector unit vector from `b` to `a`
---@field gap number m
---@field friction number
---@field restitution number
---@field surface_speed number m/s
---@field enabled boolean

---@class sim2d.Handle
local Handle = {}

---Ends the registration, so that the function is not called again.
function Handle:remove() end

-- Reading

---@class sim2d.Contact
---@field a sim2d.Body
---@field b sim2d.Body
---@field point sim2d.Vector m, position of the contact point at the end of the step
---@field normal sim2d.Vector unit vector from `b` to `a`, the direction in which the impulses acted
---@field gap number m, gap at the end of the step; negative if the shapes overlap
---@field normal_impulse number N s, normal impulse on `a`, summed over the last step
---@field tangent_impulse number N s, tangential impulse on `a`; the tangent is the normal turned left by 90 degrees
---@field angular_impulse_a number N m s, angular impulse of both impulses on `a` about its centre of mass
---@field angular_impulse_b number N m s, angular impulse of both impulses on `b` about its centre of mass
---@field sliding boolean true if the contact carries an impulse and its friction is at its bound

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
---@field dynamics number N s or N m s, change of momentum that is not explained by impulses
---@field complementarity number N s or m/s, smaller of the normal impulse and the separating velocity
---@field cone number N s, deviation from Coulomb's law
---@field joint number m/s, velocity error of joints
---@field joint_error number m, position error of joints after the step; not part of `scaled`
---@field penetration number m, deepest overlap of rigid pairs after the step; not part of `scaled`
---@field passage number m, audit: overlap of a rigid pair within the step that exceeds the overlap at its start
---@field jump number m, audit: motion of a body that is not explained by its velocity and impulses
---@field momentum number N s, audit: momentum of a body that is not explained by forces, contacts and joints
---@field energy number J, audit: energy that bodies gained (> 0) or lost without a cause
---@field distance number m, audit: gap of a pair on which an impulse acted
---@field slip number m, audit: relative motion of surfaces that stick
---@field drift number m/s or rad/s, audit: rate at which a rigid joint's equation changes at the end of the step. The audit reports a drift if its energy exceeds a thousandth of the kinetic energy

---Returns the residuals of the last step. Each is the largest absolute value of its kind.
---@return sim2d.Residuals
function World:residuals() end

---Returns counts and times since the world was made.
---@return table<string, any>
function World:stats() end

---A step problem with n moving bodies, m joint rows and c contacts has R = m + 2c rows.
---@class sim2d.Problem
---@field bodies sim2d.Body[] bodies; columns 3i-2 .. 3i (angle, x, y) belong to body i
---@field M number[][] 3n x 3n mass matrix
---@field rhs number[] 3n momenta in the absence of impulses
---@field J number[][] R x 3n Jacobian: the rows of joints, then a normal row and a tangent row for each contact
---@field C number[] R compliances of the rows
---@field bias number[] R bias velocities of the rows
---@field lo number[] R lower bounds of the impulses
---@field hi number[] R upper bounds of the impulses
---@field mu number[] c friction coefficients
---@field E number[][] 2c x c matrix that assigns each direction of friction to its contact
---@field W number[][] R x R Delassus matrix
---@field q number[] R row velocities in the absence of impulses
---@field joints integer m
---@field contacts integer c

---The argument of a solver that a script defines.
---@class sim2d.SolverProblem: sim2d.Problem
---@field guess number[] R impulses of the previous step
---@field tolerance number
---@field max_iterations integer
---@field velocity_scale number m/s
---@field length number m

---Returns the problem that the next step would solve, as plain tables.
---@return sim2d.Problem
function World:problem() end

---Describes the effect of an input of 1. It has a body or a joint, and one of the other fields.
---@class sim2d.Input
---@field body? sim2d.Body|string
---@field joint? sim2d.Joint
---@field force? number[]|number N, force {x, y} on a body, or a number for the force along the coordinate of a joint
---@field frame? "body" "body": the force turns with the body
---@field at? sim2d.XY m, point at which a force with `frame` acts, relative to the centre of mass
---@field torque? number N m
---@field motor_speed? number rad/s or m/s
---@field motor_max? number N m or N
---@field rest? number rad or m, rest position of a joint's spring
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
---@return sim2d.Coordinate[]? coordinates entries of a reduced state, which consists of their values, followed by their speeds
function World:linearize(options) end

---Returns the mass matrix of the dynamic bodies. It has three columns for each body, in the order of `world:state()`.
---@return number[][]
function World:mass_matrix() end

---Returns the matrix that maps (va, vx, vy) to the velocity of a point that moves with the body.
---@param body sim2d.Body
---@param point sim2d.XY m, world coordinates
---@return number[][] jacobian 2 x 3
function World:jacobian(body, point) end

---Selects the bodies that a query finds. Without a filter, the query finds all enabled bodies except sensors.
---@class sim2d.QueryFilter
---@field mask? integer the query finds only bodies whose `category` has one of these bits
---@field category? integer the query finds only bodies whose `mask` has one of these bits
---@field ignore? sim2d.Body|sim2d.Body[] one body or a list of bodies that the query does not find
---@field sensors? boolean true: the query also finds sensors

---@class sim2d.RayHit
---@field body sim2d.Body the body that the ray hits
---@field point sim2d.Vector m, world coordinates
---@field normal sim2d.Vector unit vector that points out of the shape
---@field fraction number 0 at the start of the ray, 1 at its end

---@class sim2d.FanOptions: sim2d.QueryFilter
---@field rays integer number of rays
---@field range number m, length of each ray
---@field angle? number rad, direction of the middle of the fan in world coordinates; default 0
---@field spread? number rad, angle from the first ray to the last ray; default 2 pi, a full turn

---Casts a ray from one point to another, and finds its nearest hit. A ray that starts on a surface and points inwards
---hits at fraction 0. A ray does not hit a shape that contains its start.
---@param from sim2d.XY
---@param to sim2d.XY
---@param filter? sim2d.QueryFilter
---@return sim2d.RayHit?
function World:raycast(from, to, filter) end

---Casts a ray and finds all bodies on it, nearest first. Each hit is the point where the ray first enters the body.
---@param from sim2d.XY
---@param to sim2d.XY
---@param filter? sim2d.QueryFilter
---@return sim2d.RayHit[]
function World:raycast_all(from, to, filter) end

---Casts many rays from one point, like a lidar. The lists contain the angle (rad), the distance (m) and the hit of each
---ray. For a ray without a hit, the distance is `range` and the hit is false.
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
---@field point_a sim2d.Vector m, nearest point of the first body
---@field point_b sim2d.Vector m, nearest point of the second body
---@field normal sim2d.Vector unit vector

---Measures the distance between two bodies and finds their nearest points.
---@param a sim2d.Body
---@param b sim2d.Body
---@return sim2d.Closest
function World:closest(a, b) end

-- State

---Returns the state as a flat list. It contains angle, x, y, and their rates va, vx, vy, for each dynamic body in
---creation order.
---@return number[]
function World:state() end

---Sets the poses and velocities of all dynamic bodies.
---@param state number[] a list in the form that `world:state()` returns
function World:set_state(state) end

---Moves bodies so that hinges and sliders have the given coordinates. All joints remain satisfied exactly.
---@param coordinates table<sim2d.Joint|string, number> rad or m, coordinates keyed by joint or by name
function World:set_coordinates(coordinates) end

---Returns an exact copy of the world's state in the engine.
---@return sim2d.Snapshot
function World:snapshot() end

---Restores a snapshot. Callbacks and timers do not change. A clone may restore a snapshot of its original.
---@param snapshot sim2d.Snapshot
function World:restore(snapshot) end

---@class sim2d.Snapshot

---Makes another world in the same state.
---@param def? { callbacks?: boolean, functions?: boolean } parts that are also copied; default: false for both
---@return sim2d.World
function World:clone(def) end

---Moves overlapping bodies apart. The displacements, weighted by mass, are as small as possible.
---@return number overlap m, largest remaining overlap
function World:resolve_overlaps() end

---Moves the bodies to an equilibrium: no body accelerates from rest by more than the tolerance. Time does not advance,
---and applied forces act throughout. The velocities are 0 at the end. The equilibrium is differentiable, except in a
---world with
---force laws.
---@param options? { tolerance?: number, max_steps?: integer } `tolerance` is in m/s^2, default 1e-6. The default of `max_steps` is 100000
---@return boolean solved
---@return number residual m/s^2, largest remaining acceleration
function World:solve_static(options) end

---@class sim2d.DrawOptions
---@field width? integer pixels, default 800
---@field view? { [1]: sim2d.XY, [2]: sim2d.XY } m, two corners of the view; default: a view of all moving bodies
---@field follow? sim2d.Body the view moves with this body
---@field title? string a line of text above the picture
---@field contacts? boolean false hides contact points and impulses
---@field joints? boolean false hides joints
---@field names? boolean true shows the names of bodies
---@field legend? boolean false hides the time, the scale and the arrows below the picture
---@field dark? boolean true draws in light colours on a dark background

---@class sim2d.Annotation
---@field line? sim2d.XY[] m, a line through these points
---@field arrow? sim2d.XY[] m, an arrow { from, to }
---@field point? sim2d.XY m, a dot
---@field text? string a text, which stands alone or at the end of the other element
---@field at? sim2d.XY m, position of a text that stands alone
---@field color? string "#rrggbb", "#rrggbbaa" or a name
---@field size? number px, width of a line, radius of a dot, or height of a text that stands alone
---@field name? string the annotation remains until this name is annotated again or cleared; without a name, it belongs to the next step only

---Draws an annotation over pictures, recordings and the live view. It does not affect the simulation.
---@param annotation sim2d.Annotation an annotation with one of the keys `line`, `arrow`, `point` and `text`
function World:annotate(annotation) end

---Removes annotations.
---@param name? string name of an annotation; default: all annotations
function World:clear_annotations(name) end

---Draws the present world to a file (.svg or .png).
---@param path string
---@param options? sim2d.DrawOptions
---@return true? success
---@return string? message
function World:draw(path, options) end

---Columns of a recording: a list of names ("cart.x", "energy.total"), and functions keyed by name.
---@alias sim2d.Columns { [integer]: string, [string]: fun(world: sim2d.World, t: number): number }

---Options of a recording. Pictures and videos also have the options of `world:draw`.
---@class sim2d.RecordOptions: sim2d.DrawOptions
---@field every? integer records every nth step; default 1
---@field from? number s, time before which frames are omitted
---@field to? number s, time after which frames are omitted
---@field trails? boolean | sim2d.Body[] for pictures and videos: bodies whose centres leave a trail; true means all moving bodies. Pages accept only true
---@field strobe? number | number[] for pictures: a period or a list of times, s. The picture shows the world at all of these times
---@field fps? number for videos: frames per second; default 30
---@field speed? number for videos and pages: simulated seconds per second; default 1. A value of 0.1 is slow motion
---@field columns? sim2d.Columns for .csv, .npz and .h5: columns of a table with a row for each time
---@field units? table<string, string> units of columns

---Records the world from now on. The suffix of the path selects the format.
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

---Closes the recordings of the world and frees the world.
function World:close() end

-- ---- Control ------------------------------------------------------------------------------------

---@class sim2d.Actuator
---@field name string
---@field kind "force"|"torque"|"speed"|"position"
---@field joint sim2d.Joint?
---@field body sim2d.Body?
---@field range number[] {lo, hi}, range of commands
---@field delay number s
---@field value number the last command, clipped
---@field input sim2d.Input effect of a command of 1, in the form that `linearize` accepts
---@field kp number? proportional gain of kind "position"; settable
---@field kd number? derivative gain of kind "position"; settable
---@field max_torque number? N m, largest torque on a turning joint; settable
---@field max_force number? N, largest force on a sliding joint; settable
---@field implicit boolean? for kind "position": true if the step solves for the effort

---@class sim2d.ActuatorDef
---@field [1]? string name of the actuator
---@field name? string name of the actuator, if it is not the first entry
---@field kind "force"|"torque"|"speed"|"position"
---@field joint? sim2d.Joint
---@field body? sim2d.Body
---@field direction? sim2d.XY direction of a force on a body
---@field frame? "world"|"body" frame in which `direction` and `at` of a force on a body are given; default "world"
---@field at? sim2d.XY m, point at which a force with frame = "body" acts, relative to the centre of mass; default {0, 0}
---@field range? number[] {lo, hi}, range of commands; default: no limits
---@field delay? number s, delay of commands, a whole number of steps; default 0
---@field kp? number N/m or N m/rad, proportional gain of kind "position"; default 100
---@field kd? number N s/m or N m s/rad, derivative gain of kind "position"; default 10
---@field max_torque? number N m, largest effort of kinds "position" and "speed" on a turning joint; default: no limit
---@field max_force? number N, largest effort of kinds "position" and "speed" on a sliding joint; default: no limit
---@field implicit? boolean for kind "position", default true: the step solves for the effort at its end, which is stable for any gains

---Declares an input of the world.
---@param def sim2d.ActuatorDef
---@return sim2d.Actuator
function World:actuator(def) end

---Sets the commands of all actuators (a list) or of some actuators (a table keyed by name). A command holds until the
---next one.
---@param u number[]|table<string, number>
---@return integer clipped number of commands that were outside their range
function World:act(u) end

---@class sim2d.ObserveDef
---@field [1]? string name of the observation
---@field name? string name of the observation, if it is not the first entry
---@field of? sim2d.Body|sim2d.Joint
---@field field? string|string[] fields of `of`, "direction" (cosine and sine of the angle) or "touches" (1 if the body has a contact, else 0)
---@field read? fun(world: sim2d.World): ... function that returns the numbers, instead of `of` and `field`
---@field noise? number standard deviation of the noise; default 0

---Declares a named observation.
---@param def sim2d.ObserveDef
function World:observe(def) end

---Returns all observations as a list in the order of declaration. They are also keyed by name.
---@return table
function World:observation() end
