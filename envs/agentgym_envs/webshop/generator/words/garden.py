"""Home and garden: types, facts and sentences. `vocabulary` describes the format of the tables."""

SHARE, OPTIONS, TITLE = 22, 0.49, 20
PRICES = 7, 12, 45, 88, 185, 620, 700

TYPES = """
console table | a | Home & Kitchen › Furniture › Living Room Furniture › Tables
  | material assembly feet storage | color dims
coffee table | a | Home & Kitchen › Furniture › Living Room Furniture › Tables
  | material assembly feet storage | color dims
nightstand | a | Home & Kitchen › Furniture › Bedroom Furniture › Nightstands
  | material assembly storage feet | color pieces
bookcase | a | Home & Kitchen › Furniture › Home Office Furniture › Bookcases
  | material assembly storage feet | color dims
bar stool | a | Home & Kitchen › Furniture › Game & Recreation Room Furniture › Bar Stools
  | material feet filling cover | color pieces
accent chair | an | Home & Kitchen › Furniture › Living Room Furniture › Chairs
  | filling cover feet assembly | color pieces
area rug | an | Home & Kitchen › Home Décor Products › Rugs, Pads & Protectors › Area Rugs
  | care pile cover feet | color dims shape
throw pillow | a | Home & Kitchen › Bedding › Decorative Pillows
  | filling care cover closing | color dims pieces
bed mattress | a | Home & Kitchen › Furniture › Bedroom Furniture › Mattresses
  | filling cover firmness care | bed shape
window curtain | a | Home & Kitchen › Home Décor Products › Window Treatments › Curtains
  | care cover sun closing | color dims pieces
table lamp | a | Tools & Home Improvement › Lighting & Ceiling Fans › Lamps
  | material glow switch feet | color shape
wall mirror | a | Home & Kitchen › Home Décor Products › Mirrors › Wall-Mounted
  | material hanging glow | shape dims color
garden bench | a | Patio, Lawn & Garden › Patio Furniture & Accessories › Seating
  | material weather assembly feet | color pieces
plant pot | a | Patio, Lawn & Garden › Gardening › Pots, Planters & Accessories
  | material weather drain feet | color pieces shape
"""

FACTS = """
[material]
solid wood
- solid wood from slow forests ; frame of solid wood with oil
~ made from a tree and nothing else ; made of thick planks
! from one tree without any glue
tempered glass
- tempered glass with round edges ; top of tempered glass
~ that i can look through ; made of a strong clear pane
! that is as clear as a window
stainless steel
- stainless steel that never rusts ; frame of stainless steel
~ made of metal without rust ; like in a restaurant kitchen
! that looks like a restaurant kitchen
woven rattan
- woven rattan by skilled hands ; frame of woven rattan
~ made like a basket ; that looks like a basket
! that reminds me of a picnic basket
[assembly]
tool free
- tool free setup in five minutes ; tool free for one person
~ that goes together by hand ; that i can build without a screwdriver
! since i own no screwdriver
fully assembled
- fully assembled in the box ; arrives fully assembled
~ that is finished when it arrives ; that needs no building
! since i do not want to build anything
screw assembly
- screw assembly with two keys ; screw assembly takes an hour
~ that i build with a wrench ; with bolts and a wrench
! since i love to use my wrench
expert installation
- expert installation is needed ; expert installation by our crew
~ that a crew puts up for me ; that professionals build
! since i want professionals to do the work
[feet]
non slip
- non slip pads below ; keeps its place with non slip pads
~ that stays where it is ; that does not slide
! that does not wander through the room
locking wheels
- locking wheels below ; keeps its place with locking wheels
~ that i can roll around ; that rolls and stops
! that i can push from room to room
felt bottom
- felt bottom below ; keeps its place with a felt bottom
~ that is kind to my floor ; that leaves no scratch on parquet
! that will not hurt my parquet
metal spikes
- metal spikes below ; keeps its place with metal spikes
~ that digs into carpet ; that stands on points
! that holds on like a football shoe
[storage]
storage drawer
- storage drawer on rails ; with one storage drawer
~ that i can pull open ; with a place that slides out
! where my keys vanish with a pull
open shelf
- open shelf below the top ; with one open shelf
~ with a board for baskets ; with a free board below
! where i can show my baskets
hidden compartment
- hidden compartment behind the panel ; with one hidden compartment
~ with a secret place ; where nobody finds my papers
! where no thief would look
side pockets
- side pockets made of canvas ; with two side pockets
~ with bags hanging at the edge ; that keeps magazines at the edge
! where magazines hang at the edge
[filling]
memory foam
- memory foam in three layers ; filled with memory foam
~ that keeps the shape of my body ; that molds to me
! that remembers how i lie
down feathers
- down feathers from one farm ; filled with down feathers
~ stuffed with something from geese ; fluffy like a goose
! that a goose once wore
natural latex
- natural latex with small holes ; filled with natural latex
~ stuffed with tree rubber ; bouncy like rubber
! that comes from a rubber tree
recycled fiber
- recycled fiber from bottles ; filled with recycled fiber
~ stuffed with former bottles ; that gives old bottles a new life
! that used to be a bottle
[cover]
velvet cover
- velvet cover with short hair ; dressed in a velvet cover
~ with a soft shiny fabric ; like a theater curtain
! that feels like an old theater
linen cover
- linen cover with a dry feel ; dressed in a linen cover
~ with a cool flax fabric ; in flax
! that feels cool like flax
leather cover
- leather cover with seams ; dressed in a leather cover
~ with hide outside ; covered in hide
! that smells like a saddle
canvas cover
- canvas cover with strong thread ; dressed in a canvas cover
~ with tent fabric ; as strong as a tent
! that feels like a tent
[care]
machine wash
- machine wash on cold ; machine wash with similar colors
~ that can go in the washing machine ; for a normal laundry day
! that i can throw in with my laundry
hand wash
- hand wash in a basin ; hand wash with mild soap
~ to clean in the sink ; that i rub in a basin
! that takes a bath in my sink
spot clean
- spot clean with a damp cloth ; spot clean and let dry
~ that i dab with a cloth ; where i only treat the stain
! where i only touch the dirty place
dry clean
- dry clean at a store ; dry clean once a year
~ that i bring to a cleaner ; for professional laundry
! that a professional must take care of
[pile]
high pile
- high pile for bare feet ; woven as high pile
~ with long threads ; deep like grass in june
! where my toes disappear
low pile
- low pile for busy doors ; woven as low pile
~ with short threads ; thin enough for a door
! where the door still opens
flat weave
- flat weave on both sides ; woven as flat weave
~ without any threads standing up ; thin like a blanket
! that looks like a blanket on the floor
looped yarn
- looped yarn in rows ; woven as looped yarn
~ with little rings ; with threads that turn back
! that looks like a towel
[closing]
hidden zipper
- hidden zipper at the seam ; closes by hidden zipper
~ with teeth that cannot be seen ; that zips up invisibly
! with teeth that only i know about
button row
- button row on the back ; closes by a button row
~ that i button up ; that closes like a shirt
! that closes like my pajamas
tie strings
- tie strings at the corners ; closes by tie strings
~ that i knot ; that closes with a bow
! that i fasten like an apron
envelope flap
- envelope flap on the back ; closes by envelope flap
~ that closes like a letter ; with a back that overlaps
! that is shut like a letter
[firmness]
extra firm
- extra firm for straight backs ; rated extra firm
~ that is hard ; hard like a board
! that does not give way
medium firm
- medium firm for most people ; rated medium firm
~ neither hard nor soft ; somewhere in the middle
! that a family can agree on
plush soft
- plush soft for side sleepers ; rated plush soft
~ that i sink into ; soft like a cloud
! that swallows me
dual sided
- dual sided with a label ; rated dual sided
~ that i can turn for another feel ; with two different faces
! that lets me change my mind
[sun]
full blackout
- full blackout in daytime ; gives full blackout
~ that keeps every ray out ; that makes my room dark
! so that i can sleep at noon
light filtering
- light filtering in daytime ; gives light filtering
~ that softens the sunshine ; that lets some rays in
! so that plants still get something
thermal lining
- thermal lining in winter ; gives thermal lining
~ that keeps the cold out ; that saves heating
! so that my heating bill goes down
sheer voile
- sheer voile all year ; gives sheer voile
~ that i can see through ; as thin as a veil
! so that i can still watch the street
[glow]
dimmable glow
- dimmable glow in steps ; has a dimmable glow
~ that i can turn down ; with adjustable brightness
! that becomes weak at night
candle glow
- candle glow for dinners ; has a candle glow
~ that looks like a flame ; that flickers
! that flickers like a fire
daylight glow
- daylight glow for makeup ; has a daylight glow
~ that looks like the sun ; for true colors
! that shows true colors
changing glow
- changing glow with remote ; has a changing glow
~ in all the tones of a party ; that shifts tones by remote
! that turns my room into a party
[switch]
touch switch
- touch switch at the foot ; works by touch switch
~ that i tap ; that starts by tapping
! that reacts to one finger
pull chain
- pull chain with a bead ; works by pull chain
~ that i tug ; that starts by tugging
! that has something to tug
foot pedal
- foot pedal on the cord ; works by foot pedal
~ that i step on ; that starts by stepping
! that leaves my hands free
voice control
- voice control with an app ; works by voice control
~ that listens to me ; that i can talk to
! that obeys when i speak
[hanging]
wire hook
- wire hook on the back ; hangs by wire hook
~ that needs one nail ; for a single nail
! that asks for just one nail
french cleat
- french cleat on the back ; hangs by french cleat
~ that needs a rail ; for a rail of wood
! that sits on its own rail
adhesive strips
- adhesive strips on the back ; hangs by adhesive strips
~ that is glued up ; for walls without nails
! since my landlord forbids nails
door hooks
- door hooks on the top ; hangs by door hooks
~ that goes over a door ; for the back of a door
! that i can put over a door
[weather]
frost proof
- frost proof down to zero ; stays frost proof
~ that can stay out in winter ; that survives ice
! that sleeps outside in january
fade resistant
- fade resistant in strong sun ; stays fade resistant
~ that keeps its tone in the sun ; that does not bleach
! that looks new after many summers
coast ready
- coast ready for salty air ; stays coast ready
~ that survives wind from the sea ; for a house at the ocean
! that can live at the beach
porch only
- porch only below a roof ; stays porch only
~ for a place below a roof ; that should not get wet
! that has to be kept dry
[drain]
drain hole
- drain hole with a plug ; comes with a drain hole
~ that lets water out ; with an opening below
! so that roots do not drown
water tank
- water tank in the base ; comes with a water tank
~ that gives water by itself ; that needs no watering for weeks
! so that i can go on vacation
closed base
- closed base without a hole ; comes with a closed base
~ that keeps all water in ; that does not leak
! so that my shelf stays clean
matching saucer
- matching saucer below ; comes with a matching saucer
~ with a dish under it ; with a plate under it
! so that drops land on a dish
"""

USES = """
small apartments, the living room, the bedroom, the balcony, the hallway, guests, the office,
cabins, dining rooms, reading corners, kids, the porch
"""
ADJECTIVES = (
    "rustic, modern, vintage, cozy, elegant, farmhouse, urban, nordic, sturdy, classic, charming, simple"
)
EXTRAS = """
home decor accent, space saving design, mid century look, hand finished details, ideal for small rooms,
with timeless lines, holds up to two hundred pounds, contemporary style furniture, warm family feeling,
a beautiful housewarming gift, balanced proportions, sturdy daily companion, carefully packed,
quiet natural charm, country house spirit, designer collection
"""
SENTENCES = """
{brand} is a family workshop that has made every {noun} with patience since the first day.
Put it up for {use} and the room looks finished at once.
Every piece is checked by two people before it is packed in thick paper.
The drawing for this {noun} was found in an old notebook and changed only a little.
Please measure your room before you order, and ask us if you are not sure.
Small differences between pieces are a sign of honest work.
It goes well with the other pieces of the {brand} series.
Our customers like it most for {use}, where every inch counts.
"""
BULLETS = """
looks right for {use} ; checked by two people before packing ; holds up to two hundred pounds ;
your {noun} is packed in thick paper ; goes well with the other pieces of {brand} ;
small differences are a sign of honest work ; ask our workshop before you order
"""
