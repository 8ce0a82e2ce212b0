"""Electronics: types, facts and sentences. `vocabulary` describes the format of the tables."""

SHARE, OPTIONS, TITLE = 23, 0.22, 20
PRICES = 4, 7, 12, 22, 60, 520, 700

TYPES = """
over ear headphones | a pair of | Electronics › Headphones › Over Ear
  | sound link cable fold | color bundle
bluetooth speaker | a | Electronics › Portable Audio › Speakers
  | sound power weather shell | color bundle
phone charger | a | Cell Phones & Accessories › Accessories › Chargers
  | charging cable shell fold | color length
phone case | a | Cell Phones & Accessories › Cases › Basic Cases
  | shell weather stand surface | color model
tablet stand | a | Electronics › Computers & Accessories › Tablet Accessories › Stands
  | stand shell fold surface | color model
desk lamp with usb | a | Electronics › Office Electronics › Lamps
  | power stand fold beam | color bundle
security camera | a | Electronics › Security & Surveillance › Cameras
  | power weather stand lens | color bundle
action camera | an | Electronics › Camera & Photo › Video › Action Cameras
  | lens weather charging stand | color storage
wireless keyboard | a | Electronics › Computers & Accessories › Keyboards
  | link power shell keys | color bundle
computer mouse | a | Electronics › Computers & Accessories › Mice
  | link power shell keys | color bundle
hdmi cable | an | Electronics › Accessories & Supplies › Cables › Video
  | cable shell plug | length color
power bank | a | Cell Phones & Accessories › Accessories › Portable Power
  | charging shell weather plug | color storage
smart watch band | a | Electronics › Wearable Technology › Bands
  | buckle surface weather | color model
flash drive | a | Electronics › Computers & Accessories › Data Storage
  | plug shell fold weather | storage color
tripod | a | Electronics › Camera & Photo › Tripods & Monopods
  | shell fold stand plug | length color
"""

FACTS = """
[sound]
noise cancelling
- noise cancelling circuit for trains and planes ; four microphones do the noise cancelling
~ that shuts out the world ; that keeps the train noise out
! so that i hear nothing of my neighbors
deep bass
- deep bass from large drivers ; tuned for deep bass at parties
~ that makes the floor shake ; with strong low tones
! so that i can feel the drums
clear voice
- clear voice tuning for calls ; made for clear voice in podcasts
~ for listening to people talk ; tuned for podcasts
! so that i understand every word of a speaker
surround field
- surround field from many sides ; made for surround field in movies
~ that sounds like a cinema ; with tones from every side
! so that i feel in the middle of the movie
[link]
bluetooth pairing
- bluetooth pairing with two devices ; bluetooth pairing in three seconds
~ that connects to my phone by air ; that needs no receiver
! that finds my phone on its own
wired connection
- wired connection with a long cord ; wired connection without delay
~ with a cord to the computer ; that is joined by a cord
! that stays on a leash
usb receiver
- usb receiver in the box ; a tiny usb receiver is stored inside
~ with a little dongle ; that needs a dongle
! with a stick to put into the computer
infrared link
- infrared link in a straight line ; infrared link over ten feet
~ that works by invisible light ; that must see its partner
! that talks like a television remote
[power]
battery powered
- battery powered with two cells ; battery powered for forty hours
~ that runs on replaceable cells ; that needs aa cells
! that i feed with aa cells from the store
usb powered
- usb powered from any computer ; usb powered with a short cord
~ that takes energy from a laptop ; that runs on the laptop port
! that lives from my laptop
solar powered
- solar powered by a panel on top ; solar powered after two hours outside
~ that runs on sunshine ; with a panel for sunshine
! that costs nothing as long as the sky is clear
mains powered
- mains powered with a wall plug ; mains powered day and night
~ that goes into the wall socket ; with a plug for the wall
! that stays on the wall socket
[charging]
fast charging
- fast charging in half an hour ; smart chip for fast charging
~ that fills up in half an hour ; that is full again very soon
! that is full before my coffee is cold
overnight charging
- overnight charging saves the cells ; smart chip for overnight charging
~ that fills up slowly while i sleep ; for charging at the bedside
! that is slow but kind to the cells
magnetic charging
- magnetic charging with a snap ; strong ring for magnetic charging
~ that snaps on to fill up ; that holds on by a magnet
! that finds its place with a click
contact charging
- contact charging in a cradle ; brass pins for contact charging
~ that fills up in a cradle ; with a cradle for the desk
! that sits in its own little bed
[cable]
braided cable
- braided cable with a nylon coat ; the braided cable does not tangle
~ with a woven cord ; with a cord covered in fabric
! with a cord like a climbing rope
flat cable
- flat cable that goes under carpets ; the flat cable lies still
~ with a cord shaped like a ribbon ; with a cord that fits under a carpet
! with a cord like a noodle
coiled cable
- coiled cable that stretches ; the coiled cable springs back
~ with a cord like a spring ; with a stretching cord
! with a cord like the telephones of my childhood
rubber cable
- rubber cable that stays soft in frost ; the rubber cable is thick
~ with a thick soft cord ; with a cord that bends in the cold
! with a cord like a garden hose
[fold]
folding arm
- folding arm for small bags ; the folding arm locks in place
~ that folds up small ; that fits into a small bag
! that packs down to nothing
fixed frame
- fixed frame for daily use ; the fixed frame never wobbles
~ in one solid piece ; that has no joints
! without anything that could come loose
swivel joint
- swivel joint for every angle ; the swivel joint turns quietly
~ that turns all around ; that can face any direction
! that follows me wherever i sit
telescopic tube
- telescopic tube in four steps ; the telescopic tube slides out
~ that gets longer when pulled ; that pulls out like an antenna
! that grows when i need it
[weather]
rain proof
- rain proof for outdoor days ; sealed and rain proof
~ that can get wet ; for use in a storm
! that does not mind a downpour
dust proof
- dust proof for workshops ; sealed and dust proof
~ for use in a workshop ; that keeps sand and dirt out
! that does not mind the desert
shock proof
- shock proof for hard floors ; padded and shock proof
~ that survives a fall ; that can be dropped
! that does not mind my clumsy hands
indoor only
- indoor only for dry rooms ; please use indoor only
~ just for use at home ; that stays inside the house
! that never has to leave the house
[shell]
aluminum shell
- aluminum shell without seams ; the aluminum shell stays cool
~ with a light metal body ; in a body of light metal
! in a body like a soda can
bamboo shell
- bamboo shell without plastic ; the bamboo shell feels warm
~ with a body from fast growing cane ; in a body of cane
! in a body that once grew
plastic shell
- plastic shell without weight ; the plastic shell is strong
~ with a body like a toy brick ; in a molded body
! in a body like toy bricks
leather shell
- leather shell with stitching ; the leather shell ages well
~ with a body covered in hide ; in a coat of hide
! in a coat like a fine handbag
[stand]
wall mount
- wall mount with two screws ; includes a wall mount
~ to hang up in the hallway ; that goes up with two screws
! that i can drill into the hallway
desk base
- desk base with a heavy foot ; includes a desk base
~ to stand next to my computer ; with a heavy foot
! that stays upright beside my computer
clip holder
- clip holder with soft jaws ; includes a clip holder
~ to pinch onto a shelf ; with jaws that grip
! that bites into the edge of a shelf
suction cup
- suction cup for glass ; includes a suction cup
~ to stick to a window ; that holds on to a windshield
! that sticks like an octopus
[surface]
anti glare
- anti glare coat for sunny places ; surface with anti glare etching
~ that does not reflect sunshine ; that i can read outside
! that does not blind me on the balcony
ribbed surface
- ribbed surface for a good hold ; surface with ribbed surface lines
~ with small ridges ; that i can feel with my thumb
! with ridges like corduroy
mirror polish
- mirror polish on every side ; surface with mirror polish
~ that i can see my face in ; with a very shiny coat
! that works as a looking glass too
velvet coat
- velvet coat that feels warm ; surface with velvet coat
~ soft like a peach ; that is soft to touch
! that feels like the ears of a rabbit
[beam]
warm beam
- warm beam for evenings ; lights up with a warm beam
~ with a cozy glow ; that glows like a candle
! that feels like candles
cool beam
- cool beam for work ; lights up with a cool beam
~ with a crisp glow ; that glows like daylight
! that feels like a clear winter day
dimming dial
- dimming dial with ten steps ; lights up with a dimming dial
~ with a knob to make it weaker ; that i can turn down
! that becomes weak before bed
motion sensor
- motion sensor with a timer ; lights up by motion sensor
~ that switches on when i come ; that notices people
! that knows when i enter
[lens]
wide angle
- wide angle lens for whole rooms ; shows more with wide angle
~ that sees the whole room ; that catches everything at once
! that never misses a corner
night vision
- night vision up to thirty feet ; shows more with night vision
~ that sees in the dark ; for use after sunset
! that works like the eyes of a cat
optical zoom
- optical zoom without loss ; shows more with optical zoom
~ that brings far things near ; for things far away
! that can see birds in a far tree
fish eye
- fish eye lens with curved lines ; shows more with fish eye
~ that bends the picture ; with round bent pictures
! that makes everything look like a ball
[keys]
silent keys
- silent keys for shared rooms ; forty silent keys tested
~ that nobody can hear ; that makes no sound
! that does not wake the baby
clicky keys
- clicky keys with a firm point ; forty clicky keys tested
~ that answers with a sound ; that i can hear and feel
! that sounds like an old typewriter
backlit keys
- backlit keys for evenings ; forty backlit keys tested
~ that glows from below ; with letters that glow
! that i can use without a lamp
programmable keys
- programmable keys with memory ; six programmable keys
~ that can learn shortcuts ; with buttons i can assign
! that does what i taught it
[plug]
gold plug
- gold plug against rust ; ends in a gold plug
~ with an end that never rusts ; with a noble metal end
! with an end worthy of a ring
angled plug
- angled plug for tight corners ; ends in an angled plug
~ with a bent end ; that fits behind a sofa
! with an end that turns the corner
double plug
- double plug for two devices ; ends in a double plug
~ with two ends ; that serves two devices
! that my partner can share with me
locking plug
- locking plug with a latch ; ends in a locking plug
~ that cannot fall out ; with a latch at the end
! that stays in even when pulled
[buckle]
pin buckle
- pin buckle with eight holes ; closes with a pin buckle
~ with holes like a belt ; that closes like a belt
! that closes like my trousers
loop buckle
- loop buckle made of hook tape ; closes with a loop buckle
~ with hook tape ; that sticks to itself
! that closes like children's shoes
folding clasp
- folding clasp with two buttons ; closes with a folding clasp
~ with a hinge ; that snaps shut
! that closes like a bracelet
stretch cord
- stretch cord without ends ; closes with a stretch cord
~ that just slips over the hand ; that needs no closing
! that goes on like a hair tie
"""

USES = """
travel, the office, gaming, students, home, camping, running, school, work, the car, the kitchen,
video calls
"""
ADJECTIVES = (
    "compact, slim, smart, modern, premium, universal, ultra, portable, advanced, sleek, classic, reliable"
)
EXTRAS = """
compatible with most devices, easy setup in minutes, with carrying pouch, next generation chip,
high speed performance, designed for everyday life, energy saving mode, updated version,
includes user guide, great sound and picture, for all common systems, stable and safe operation,
ideal tech gift, long standby time, precise control panel, clean minimal design
"""
SENTENCES = """
{brand} engineers spent two years on this {noun} and tested it in more than a hundred homes.
Unpack it, follow the three steps in the guide, and it is ready for {use}.
The circuit board is protected against short circuits and too much heat.
Our support team answers every question within one day, also on weekends.
Many people buy one for {use} and come back for a second one.
The {noun} works with most phones, tablets and computers on the market.
In the box you will find the device, a guide and a pouch.
We believe that good technology should be simple, quiet and made to be repaired.
"""
BULLETS = """
ready for {use} in a few minutes ; works with most phones, tablets and computers ;
in the box: {noun}, guide and pouch ; protected against heat and short circuits ;
support answers every question within one day ; one year of service from {brand} ;
small enough for a drawer
"""
