"""Beauty: types, facts and sentences. `vocabulary` describes the format of the tables."""

SHARE, OPTIONS, TITLE = 24, 0.34, 20
PRICES = 3, 5, 9, 13, 21, 80, 110

TYPES = """
face cream | a | Beauty & Personal Care › Skin Care › Face › Creams
  | skin texture smell daytime pack | volume scent
body lotion | a | Beauty & Personal Care › Skin Care › Body › Lotions
  | skin texture smell base pack | volume scent
face wash | a | Beauty & Personal Care › Skin Care › Face › Cleansers
  | skin texture smell base pack | volume kit
sun lotion | a | Beauty & Personal Care › Skin Care › Sun Care
  | skin texture smell pack water | volume kit
clay mask | a | Beauty & Personal Care › Skin Care › Face › Masks
  | skin texture daytime base | volume scent
lip balm | a | Beauty & Personal Care › Skin Care › Lip Care
  | finish smell base pack | flavor kit
lipstick | a | Beauty & Personal Care › Makeup › Lips › Lipsticks
  | finish water base smell | color kit
nail polish | a | Beauty & Personal Care › Foot, Hand & Nail Care › Nail Art
  | finish water smell drying | color kit
eyeshadow palette | an | Beauty & Personal Care › Makeup › Eyes › Eyeshadow
  | finish water base skin | color kit
liquid foundation | a | Beauty & Personal Care › Makeup › Face › Foundation
  | finish skin water pack | color volume
shampoo | a | Beauty & Personal Care › Hair Care › Shampoo
  | hair smell base pack texture | volume scent
hair conditioner | a | Beauty & Personal Care › Hair Care › Conditioners
  | hair smell base pack | volume scent
hair oil | a | Beauty & Personal Care › Hair Care › Oils
  | hair smell base pack daytime | volume scent
hair brush | a | Beauty & Personal Care › Hair Care › Styling › Tools › Brushes › Hair Brushes
  | bristle handle hair drying | color kit
makeup brush set | a | Beauty & Personal Care › Tools & Accessories › Brushes
  | bristle handle finish | color kit
"""

FACTS = """
[skin]
dry skin
- made for dry skin that needs moisture ; suits dry skin in every season
~ for a flaky complexion ; that helps a thirsty complexion
! for someone who feels tight and flaky after a shower
oily skin
- made for oily skin and large pores ; suits oily skin in every season
~ for a greasy complexion ; that keeps shine under control
! for someone whose nose gets shiny by noon
sensitive skin
- made for sensitive skin that reacts quickly ; suits sensitive skin in every season
~ that will not irritate me ; gentle enough for an easily upset complexion
! for someone who gets red from almost anything
mature skin
- made for mature skin with fine lines ; suits mature skin in every season
~ for an older complexion ; that helps against wrinkles
! for my grandmother who has deep wrinkles
[texture]
gel texture
- comes as a clear gel texture that sinks in ; gel texture that cools on contact
~ like a clear jelly ; that feels like jelly
! with the consistency of jelly
cream texture
- comes as a rich cream texture ; cream texture that spreads slowly
~ that feels rich and thick ; thick like butter
! with the consistency of butter
foam texture
- comes as an airy foam texture ; foam texture that rises with water
~ that turns into bubbles ; light and full of bubbles
! with the consistency of whipped bubbles
powder texture
- comes as a fine powder texture to mix with water ; powder texture that you mix yourself
~ as a dry dust to mix ; that starts out as dust
! with the consistency of flour
[smell]
fragrance free
- fragrance free recipe for quiet noses ; fragrance free from the first day
~ without any perfume ; that smells of nothing
! because perfume gives me headaches
citrus scented
- citrus scented with real peel ; citrus scented from the first day
~ that smells like fruit peel ; with a fresh fruity smell
! smelling like a bowl of fresh fruit
floral scented
- floral scented with dried petals ; floral scented from the first day
~ that smells like blossoms ; with the smell of petals
! smelling like a spring meadow
woody scented
- woody scented with cedar chips ; woody scented from the first day
~ that smells like a forest ; with the smell of cedar
! smelling like a walk between old trees
[daytime]
night use
- recommended for night use before bed ; works best in night use
~ to put on before bed ; that works while i sleep
! that does its job until i wake up
morning use
- recommended for morning use after washing ; works best in morning use
~ to put on after breakfast ; that starts the day with me
! that i apply right after getting up
weekly treatment
- recommended as a weekly treatment ; works best as a weekly treatment
~ to apply every sunday ; that i need only once in seven days
! for one application between two weekends
hourly touchup
- recommended as an hourly touchup ; works best as an hourly touchup
~ to apply again and again ; that i can renew all day
! for many applications between two meals
[pack]
pump bottle
- filled into a pump bottle ; arrives in a pump bottle with a lock
~ that i press to get a dose ; with a pump on top
! where one push gives one portion
glass jar
- filled into a glass jar ; arrives in a glass jar with a lid
~ in a jar i can reuse ; in a screw top jar
! in something i can reuse for candles
squeeze tube
- filled into a squeeze tube ; arrives in a squeeze tube with a cap
~ in a soft tube ; that i press out of a tube
! packed the same way as toothpaste
spray can
- filled into a spray can ; arrives in a spray can with a nozzle
~ that comes out as a mist ; with a nozzle for mist
! that settles on me like fog
[water]
water resistant
- water resistant at the pool for hours ; stays water resistant after rain
~ that survives swimming ; that stays on in the rain
! that is still there after a swim
rinse off
- rinse off with plain water ; a rinse off product for quick changes
~ that disappears under the tap ; that leaves with plain water
! that is gone after splashing my face
tear proof
- tear proof at weddings ; stays tear proof in sad movies
~ that survives crying ; that stays on when i weep
! that can handle a sad movie
oil soluble
- oil soluble so that cleansing balm takes it off ; an oil soluble product for slow evenings
~ that leaves only with balm ; that a cleansing balm takes off
! that needs balm to get rid of it
[base]
plant based
- plant based recipe from leaves and roots ; the recipe is plant based
~ made of leaves and roots ; with nothing from animals
! that my vegan sister would accept
mineral based
- mineral based recipe from ground stone ; the recipe is mineral based
~ made of ground rock ; with powder from rock
! that came out of a mountain
milk based
- milk based recipe from a small dairy ; the recipe is milk based
~ made at a dairy ; with something from goats
! that a goat farmer would be proud of
honey based
- honey based recipe from local bees ; the recipe is honey based
~ made with the help of bees ; with something out of a hive
! that a beekeeper would be proud of
[finish]
matte finish
- dries to a matte finish ; leaves a matte finish all day
~ without any shine ; that looks flat and soft
! that does not reflect in photos
glossy finish
- dries to a glossy finish ; leaves a glossy finish all day
~ with a wet look ; that shines like a mirror
! that reflects every lamp in the room
shimmer finish
- dries to a shimmer finish ; leaves a shimmer finish all day
~ with tiny sparkles ; that glitters a little
! that twinkles like a night sky
sheer finish
- dries to a sheer finish ; leaves a sheer finish all day
~ that can hardly be seen ; with a barely there look
! that nobody notices on me
[drying]
quick drying
- quick drying in under a minute ; quick drying even in winter
~ that is ready in a minute ; for people who cannot wait
! for someone always in a hurry
air drying
- air drying over ten minutes ; air drying without a machine
~ that needs ten minutes of rest ; for people with some patience
! for someone with time for a short pause
lamp cured
- lamp cured in two rounds ; lamp cured at home or in a studio
~ that hardens under a lamp ; for use with a curing lamp
! for someone who owns a studio lamp
heat set
- heat set with a blow dryer ; heat set for a long hold
~ that needs warm air ; for use with a blow dryer
! for someone with a dryer at hand
[hair]
curly hair
- designed for curly hair with bounce ; keeps curly hair in shape
~ for locks that curl ; for ringlets
! for a head full of ringlets
fine hair
- designed for fine hair without weight ; keeps fine hair in shape
~ for thin strands ; for strands without volume
! for a head of very thin strands
coarse hair
- designed for coarse hair that is thick ; keeps coarse hair in shape
~ for thick and rough strands ; for a heavy mane
! for a head like a lion's mane
damaged hair
- designed for damaged hair with split ends ; repairs damaged hair over time
~ for split ends ; for strands broken by bleach
! after too much bleach and heat
[bristle]
nylon bristle
- built with nylon bristle tufts ; each nylon bristle is rounded
~ with plastic tufts ; with tufts made of plastic
! with tufts from a factory and not an animal
boar bristle
- built with boar bristle tufts ; each boar bristle is cut by hand
~ with animal tufts ; with tufts from a wild pig
! with the traditional kind of animal tufts
silicone tips
- built with silicone tips that bend ; the silicone tips are rounded
~ with soft rubbery ends ; with ends that bend
! with points that are soft like rubber
wooden pins
- built with wooden pins in rows ; the wooden pins are polished
~ with little sticks from a tree ; with carved pins
! with points carved from a tree
[handle]
bamboo handle
- bamboo handle with a loop ; light bamboo handle for long sessions
~ that i hold by a piece of cane ; with a grip from fast growing cane
! with a grip that a panda would chew
metal handle
- metal handle with a loop ; cool metal handle for long sessions
~ that i hold by a piece of steel ; with a heavy steel grip
! with a grip that a magnet would hold
rubber grip
- rubber grip with a loop ; firm rubber grip for long sessions
~ that does not slide out of wet hands ; safe to hold with wet hands
! that i can hold in the shower
folding handle
- folding handle with a loop ; small folding handle for long trips
~ that collapses for a handbag ; that i can bend in half
! that becomes half as long in my handbag
"""

USES = """
travel, daily care, weddings, winter, summer, the office, teenagers, men, women, beginners, the gym,
gifts
"""
ADJECTIVES = (
    "gentle, pure, fresh, silky, soothing, radiant, bright, smooth, classic, deluxe, simple, botanical"
)
EXTRAS = """
professional salon quality, soothing care formula, a little luxury every day, recommended by stylists,
nourishing and refreshing, made in small batches, carefully tested recipe, lovely gift idea,
for all ages, with vitamin complex, elegant beauty essentials, pure comfort for you, smooth and even result,
new improved edition, spa care at home, beauty favorites collection
"""
SENTENCES = """
{brand} has been mixing its {noun} in a small studio for many years, and every batch is checked by hand.
A little amount goes a long way, so that one package lasts for months.
Our team of beauty lovers tests every recipe on themselves before anything leaves the studio.
Your bathroom shelf deserves something simple that does what the label promises.
Take it with you for {use} and enjoy a few quiet minutes for yourself.
Pair it with the other products of the {brand} collection for a complete routine.
Please store in a cool place away from the sun and keep away from the eyes.
The {noun} was voted a favorite of our readers two years in a row.
"""
BULLETS = """
a favorite for {use} ; tested by people and never in a hurry ; a small amount is enough for one application ;
your {noun} arrives in a recycled carton ; developed together with salon experts ;
keep away from eyes and store in a cool place ; contact our studio if you are not happy with your {noun}
"""
