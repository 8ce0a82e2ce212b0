"""Fashion: types, facts and sentences. `vocabulary` describes the format of the tables."""

SHARE, OPTIONS, TITLE = 20, 0.79, 13
PRICES = 3, 4, 13, 18, 29, 75, 110

TYPES = """
women's blouse | a | Clothing, Shoes & Jewelry › Women › Clothing › Tops › Blouses
  | care fabric sleeve neck | color wear fit
women's dress | a | Clothing, Shoes & Jewelry › Women › Clothing › Dresses
  | care fabric sleeve neck | color wear fit
women's leggings | a pair of | Clothing, Shoes & Jewelry › Women › Clothing › Leggings
  | care fabric waist pocket | color wear
women's sandals | a pair of | Clothing, Shoes & Jewelry › Women › Shoes › Sandals
  | sole toe strap | color shoe
women's cardigan | a | Clothing, Shoes & Jewelry › Women › Clothing › Sweaters
  | care fabric front pocket | color wear
men's shorts | a pair of | Clothing, Shoes & Jewelry › Men › Clothing › Shorts
  | care fabric waist pocket | color wear fit
men's t-shirt | a | Clothing, Shoes & Jewelry › Men › Clothing › Shirts › T-Shirts
  | care fabric neck sleeve | color wear fit
men's jacket | a | Clothing, Shoes & Jewelry › Men › Clothing › Jackets & Coats
  | care lining front pocket | color wear fit
men's boots | a pair of | Clothing, Shoes & Jewelry › Men › Shoes › Boots › Outdoor › Hiking Boots
  | sole toe lining strap | color shoe
men's swim trunks | a pair of | Clothing, Shoes & Jewelry › Men › Clothing › Swim
  | care lining waist pocket | color wear
men's sweatshirt | a | Clothing, Shoes & Jewelry › Men › Clothing › Active
  | care fabric front pocket | color wear
pajama set | a | Clothing, Shoes & Jewelry › Women › Clothing › Sleep & Lounge › Sets
  | care fabric sleeve waist | color wear fit
sneakers | a pair of | Clothing, Shoes & Jewelry › Men › Shoes › Fashion Sneakers
  | sole toe strap lining | color shoe
"""

FACTS = """
[care]
machine wash
- machine wash on cold ; machine wash with similar colors
~ that can go in the washing machine ; for a normal laundry day
! that i can throw in with my laundry
hand wash
- hand wash in a basin ; hand wash with mild soap
~ to clean in the sink ; that i rub in a basin
! that takes a bath in my sink
dry clean
- dry clean at a store ; dry clean after each season
~ that i bring to a cleaner ; for professional laundry
! that a professional must take care of
cold soak
- cold soak over night ; cold soak without rubbing
~ to leave in a bucket over night ; that needs a bucket of cold water
! that sleeps in a bucket
[fabric]
pure cotton
- knitted from pure cotton ; feels like pure cotton
~ made of a plant that breathes ; from white fluffy plants
! from fields of white fluff
washed linen
- woven from washed linen ; feels like washed linen
~ made of cool flax ; in flax
! that wrinkles in the way of flax
stretch polyester
- knitted from stretch polyester ; feels like stretch polyester
~ made of elastic man made yarn ; in a bouncy man made yarn
! that comes from a chemical lab
merino wool
- knitted from merino wool ; feels like merino wool
~ made from sheep ; warm like a sheep
! that once kept a sheep warm
[sleeve]
long sleeve
- cut with a long sleeve ; long sleeve down to the hand
~ that covers my arms ; with arms down to the hand
! that hides my elbows
short sleeve
- cut with a short sleeve ; short sleeve above the elbow
~ that ends above the elbow ; with half arms
! that shows my elbows
puff shoulders
- cut with puff shoulders ; puff shoulders with folds
~ that is round on top of the arms ; that looks like balloons
! with arms like balloons
bare arms
- cut for bare arms ; bare arms on hot days
~ that leaves my arms free ; like a tank
! with nothing on the arms
[neck]
crew neck
- crew neck with a soft band ; sewn with a crew neck
~ that is round at the throat ; with a round top
! that sits close around my throat
deep v-cut
- deep v-cut with a soft band ; sewn with a deep v-cut
~ that is pointed at the throat ; with a pointed top
! that shows my necklace
high collar
- high collar with a soft band ; sewn with a high collar
~ that is closed up to my chin ; that warms my throat
! that replaces a scarf
boat line
- boat line with a soft band ; sewn with a boat line
~ that is wide from shoulder to shoulder ; open towards the shoulders
! that shows my collarbones
[waist]
elastic waistband
- elastic waistband without pressure ; sits by elastic waistband
~ that stretches after dinner ; that gives way at the belly
! that forgives a big dinner
drawstring waist
- drawstring waist with metal tips ; sits by drawstring waist
~ that i tie in front ; with a cord to tie
! that i knot before i run
belt loops
- belt loops all around ; sits by belt loops
~ to wear with a leather strap ; that holds a strap
! since i collect leather straps
high rise
- high rise above the hips ; sits by high rise
~ that goes up to my belly button ; that hides my belly
! that reaches my belly button
[pocket]
zip pockets
- zip pockets on both sides ; made with zip pockets
~ where nothing falls out ; where my keys are safe
! so that my phone stays with me on a jump
back pocket
- back pocket with a flap ; made with a back pocket
~ with a place behind for a wallet ; where my wallet goes behind
! so that i can sit on my wallet
no pockets
- no pockets for a clean line ; made with no pockets
~ with nowhere to put a phone ; that is flat on both sides
! since i carry a bag anyway
cargo bags
- cargo bags on the legs and arms ; made with cargo bags
~ with lots of room for tools ; where tools fit in
! so that i need no backpack
[front]
full zipper
- full zipper with a metal tab ; opens by full zipper
~ that i zip all the way ; with teeth from top to bottom
! that opens with one long pull
button front
- button front with horn ; opens by button front
~ that i button up ; with horn discs in a row
! that takes patience to open
pull over
- pull over cut in one piece ; opens as pull over
~ that goes over my head ; without an opening
! that messes up my hair
wrap tie
- wrap tie at the side ; opens by wrap tie
~ that i fold and knot ; that closes like a robe
! that closes like a bathrobe
[lining]
fleece lined
- fleece lined for icy days ; warm and fleece lined
~ that is fluffy inside ; for icy days
! that feels like a lamb inside
mesh lined
- mesh lined for hot days ; airy and mesh lined
~ with a net inside ; that lets air through
! that feels like a net inside
quilted lining
- quilted lining with diamonds ; padded by quilted lining
~ that is stitched in diamonds inside ; padded inside
! that feels like a bed cover inside
silk lining
- silk lining without noise ; smooth by silk lining
~ that slips on easily ; that feels slippery inside
! that feels like water inside
[sole]
rubber sole
- rubber sole with deep lines ; walks on a rubber sole
~ that grips on wet stone ; that holds on wet ground
! that trusts wet ground
cork sole
- cork sole from oak bark ; walks on a cork sole
~ that is made of bark below ; with bark under my feet
! that walks on bottle stoppers
foam sole
- foam sole with much bounce ; walks on a foam sole
~ that feels like clouds ; that is bouncy
! that walks on clouds
leather bottom
- leather bottom sewn by hand ; walks on a leather bottom
~ that slides on a dance floor ; with hide under my feet
! that is made to dance
[toe]
round toe
- round toe with room ; shaped with a round toe
~ with enough room in front ; wide in front
! where all five of them have room
open toe
- open toe for hot days ; shaped with an open toe
~ that shows my nail polish ; free in front
! that lets everyone see my nail polish
pointed tip
- pointed tip for parties ; shaped with a pointed tip
~ that is narrow in front ; sharp in front
! that looks like an arrow
steel cap
- steel cap for work ; shaped with a steel cap
~ that protects against falling bricks ; safe on a building site
! where a brick may fall on
[strap]
ankle strap
- ankle strap with five holes ; held by an ankle strap
~ that goes around above the heel ; tied above the heel
! that holds on above my heel
hook loop
- hook loop tape across ; held by hook loop
~ that sticks shut ; with sticky tape
! that makes that ripping noise
lace up
- lace up with waxed cord ; held by lace up
~ that i tie with a bow ; with strings to tie
! that needs a bow and a knot
slip on
- slip on without bending ; held by slip on cut
~ that i just step into ; without any closing
! that asks for no hands
"""

USES = """
travel, summer, winter, the office, running, parties, school, the beach, yoga, weekends, hiking,
evenings
"""
ADJECTIVES = (
    "casual, classic, elegant, sporty, trendy, relaxed, basic, graceful, vintage, modern, cute, comfy"
)
EXTRAS = """
everyday look, street style, soft touch, new season, comfortable cut, timeless design, plus sizes,
gift idea, holiday outfit, flattering shape, light weight, trend piece
"""
SENTENCES = """
{brand} draws every {noun} in a bright studio near the harbor and sews it in small runs.
Wear it for {use} or just at home with your favorite music.
Please look at our chart before you order, since people are different.
It goes with jeans, with a skirt, or with nothing but a good mood.
Our models wear their usual measure in all photos.
Every seam is sewn twice, so that your {noun} stays with you for many years.
A good choice for {use}, birthdays and long walks in the city.
"""
BULLETS = """
a good choice for {use} ; every seam is sewn twice ; please look at the chart before you order ;
goes with jeans or a skirt ; your {noun} comes in a paper bag ; drawn and tested by {brand} ;
imported
"""
