"""Grocery: types, facts and sentences. `vocabulary` describes the format of the tables."""

SHARE, OPTIONS, TITLE = 12, 0.25, 20
PRICES = 3, 5, 14, 22, 37, 78, 105

TYPES = """
green tea | some | Grocery & Gourmet Food › Beverages › Coffee, Tea & Cocoa › Tea
  | origin pouch energy taste | flavor weight
ground coffee | some | Grocery & Gourmet Food › Beverages › Coffee, Tea & Cocoa › Coffee
  | roast origin pouch energy | flavor weight
hot chocolate mix | a | Grocery & Gourmet Food › Beverages › Coffee, Tea & Cocoa › Cocoa
  | sweet milk pouch origin | flavor weight
granola bars | some | Grocery & Gourmet Food › Breakfast Foods › Bars
  | sweet bite milk pouch | flavor weight
potato chips | some | Grocery & Gourmet Food › Snack Foods › Chips & Crisps
  | salt bite oil pouch | flavor weight
trail mix | a | Grocery & Gourmet Food › Snack Foods › Nuts & Seeds
  | salt sweet bite pouch | flavor weight
rice noodles | some | Grocery & Gourmet Food › Pantry › Noodles
  | cooking salt bite origin | weight flavor
tomato soup | a | Grocery & Gourmet Food › Pantry › Soups, Stocks & Broths
  | salt cooking milk heat | flavor weight
chili sauce | a | Grocery & Gourmet Food › Pantry › Sauces, Gravies & Marinades
  | heat sweet pouch salt | flavor weight
peanut butter | a | Grocery & Gourmet Food › Pantry › Nut & Seed Butters
  | salt sweet bite oil | flavor weight
dried fruit | some | Grocery & Gourmet Food › Produce › Dried Fruits
  | sweet origin bite pouch | flavor weight
cookies | some | Grocery & Gourmet Food › Snack Foods › Cookies
  | sweet milk bite oil | flavor weight
"""

FACTS = """
[origin]
certified organic
- certified organic from a state office ; grown certified organic
~ without chemicals on the field ; from a field without sprays
! since i do not trust sprays
wild harvested
- wild harvested by families ; picked wild harvested
~ that grew without a farmer ; from the forest and not a farm
! that nobody ever planted
mountain grown
- mountain grown above the clouds ; picked mountain grown
~ from very high places ; from steep slopes
! from a place where the air is thin
island farmed
- island farmed between two seas ; picked island farmed
~ from land in the middle of the sea ; from a tropical coast
! that arrived on a ship from the tropics
[pouch]
resealable bag
- resealable bag with a strip ; packed in a resealable bag
~ that i can close again ; with a strip that closes
! so that it stays closed between two snacks
tin box
- tin box with a lid ; packed in a tin box
~ in metal that i can collect ; in something that does not break
! so that i can store buttons in it later
glass jar
- glass jar with a lid ; packed in a glass jar
~ in something clear to refill ; with a screw top
! so that i can see how much is left
single serve
- single serve portions ; packed as single serve
~ in small portions ; one portion at a time
! so that i open just one each day
[energy]
caffeine free
- caffeine free by steam ; gentle and caffeine free
~ that lets me sleep ; without anything that wakes me up
! that i can drink before bed
double caffeine
- double caffeine for early birds ; strong with double caffeine
~ that wakes me up ; extra strong against tired eyes
! that i need before sunrise
added vitamins
- added vitamins from berries ; fresh with added vitamins
~ that helps against a cold ; with something for my health
! that my doctor would drink
added ginseng
- added ginseng from old roots ; fresh with added ginseng
~ with a root from asia ; with a famous root
! with the root that my grandfather swears by
[taste]
smoky aroma
- smoky aroma from pine fires ; known for its smoky aroma
~ that tastes like a camp fire ; like a camp fire in the mouth
! that tastes of burned wood
grassy aroma
- grassy aroma from spring fields ; known for its grassy aroma
~ that tastes like a meadow ; like a meadow in the mouth
! that tastes of a cut lawn
malty aroma
- malty aroma from long rest ; known for its malty aroma
~ that tastes like fresh bread ; like bread in the mouth
! that tastes of a bakery
bitter aroma
- bitter aroma from young leaves ; known for its bitter aroma
~ that makes me pull a face ; with nothing mild in it
! that tastes of medicine
[roast]
light roast
- light roast in small drums ; a true light roast
~ that spent little time in the drum ; pale and fruity
! that left the fire early
medium roast
- medium roast in small drums ; a true medium roast
~ that is neither pale nor burned ; in the middle of pale and burned
! that left the fire at the right time
espresso roast
- espresso roast in small drums ; a true espresso roast
~ that spent long in the drum ; nearly black and oily
! that left the fire very late
unroasted beans
- unroasted beans for home drums ; truly unroasted beans
~ that never saw a fire ; raw for my own drum
! that i put on the fire myself
[sweet]
sugar free
- sugar free by nature ; recipe is sugar free
~ that my dentist allows ; without anything sweet added
! that does not ruin my teeth
honey sweetened
- honey sweetened with wild bees ; recipe is honey sweetened
~ that bees made sweet ; sweet thanks to bees
! that owes its taste to bees
cane syrup
- cane syrup from brazil ; recipe with cane syrup
~ that is very sweet ; sweet like candy
! that gives a rush like candy
stevia leaf
- stevia leaf from paraguay ; recipe with stevia leaf
~ sweet from a green plant ; sweet without calories
! that is sweet and still keeps me slim
[milk]
dairy free
- dairy free in its own kitchen ; made dairy free
~ without anything from a cow ; that needs no cow
! since cows do not agree with me
real butter
- real butter from one village ; made with real butter
~ with a lot from the cow ; with something churned
! since nothing beats the churn
oat milk
- oat milk from our mill ; made with oat milk
~ with a drink from grain ; with pressed grain
! since i like pressed grain
goat yogurt
- goat yogurt from the alps ; made with goat yogurt
~ with something sour from goats ; sour thanks to goats
! since i like it sour and from goats
[bite]
crunchy bite
- crunchy bite in each piece ; loved for its crunchy bite
~ that cracks between the teeth ; that makes noise when i chew
! that the whole cinema can hear
chewy bite
- chewy bite in each piece ; loved for its chewy bite
~ that keeps my jaw busy ; that i chew for long
! that is work for my jaw
creamy bite
- creamy bite in each piece ; loved for its creamy bite
~ that melts on the tongue ; that needs no teeth
! that a baby could eat
thin cut
- thin cut by sharp knives ; loved as thin cut
~ as thin as paper ; that i can nearly see through
! through which i could read the paper
[salt]
low sodium
- low sodium for the heart ; seasoned low sodium
~ that is kind to my blood pressure ; with little salt
! that my heart doctor allows
sea salt
- sea salt from the coast ; seasoned by sea salt
~ that tastes of the ocean ; with flakes from the ocean
! that tastes like a wave
fully unsalted
- fully unsalted by choice ; seasoned fully unsalted
~ with no salt at all ; where i add the salt
! so that i may add my own salt
soy seasoned
- soy seasoned for two days ; richly soy seasoned
~ that tastes of a sushi bar ; salty like in japan
! that tastes like dinner in tokyo
[oil]
palm free
- palm free for the forest ; fried palm free
~ that saves the rain forest ; kind to monkeys
! for which no monkey loses a home
olive oil
- olive oil from greece ; fried in olive oil
~ with fat from the mediterranean ; fried like in greece
! that tastes of holidays in greece
coconut fat
- coconut fat from a cold press ; fried in coconut fat
~ with fat from the tropics ; fried like in the tropics
! that tastes of a palm beach
oven baked
- oven baked and never fried ; slowly oven baked
~ that saw no fat ; that is not fried
! that keeps my fingers clean
[cooking]
ready to eat
- ready to eat from the package ; cooked and ready to eat
~ for people who cannot cook ; that needs no kitchen
! that i can have on a train
microwave safe
- microwave safe cup included ; quick and microwave safe
~ that warms up in two minutes ; warm in two minutes
! that i can warm at work
slow simmer
- slow simmer on a small flame ; best after a slow simmer
~ that needs an hour in the pot ; for a long evening in the kitchen
! that rewards an hour of waiting
cold soak
- cold soak in the fridge ; best after a cold soak
~ that i put in water over night ; that needs no heat
! that is made by the fridge alone
[heat]
mild heat
- mild heat for kids ; cooked with mild heat
~ that kids like ; that does not burn
! that even my little son eats
fiery hot
- fiery hot for brave people ; cooked fiery hot
~ that makes me cry ; that burns twice
! that makes steam come out of my ears
peppery kick
- peppery kick from three corns ; cooked with a peppery kick
~ that tickles my nose ; that makes me sneeze
! that ends in a sneeze
cooling mint
- cooling mint at the end ; cooked with cooling mint
~ that feels cold ; fresh like a breath in winter
! that feels like winter air
"""

USES = (
    "breakfast, travel, parties, the office, kids, camping, hikes, guests, lunch, holidays, the pantry, gifts"
)
ADJECTIVES = (
    "gourmet, delicious, tasty, fresh, traditional, premium, classic, rich, hearty, fine, golden, homestyle"
)
EXTRAS = """
great taste in every package, family recipe since long ago, gourmet selection, party favorite,
good for sharing, perfect pantry staple, finest quality ingredients, made in small batches,
lovely gift basket idea, happy snack time, real flavor experience, chef recommended choice,
for the whole family, comes with recipe card, carefully selected, snack lovers collection
"""
SENTENCES = """
{brand} began with one kitchen and one recipe, and the {noun} is still made in the same way.
Serve it for {use} or keep a package in the pantry for a rainy day.
We taste every batch at nine in the morning, when the tongue is most awake.
Our cooks choose each ingredient by hand and know most of the growers by name.
Store in a dry place and enjoy within a month after opening.
On the back you will find two recipes for {use}.
The {noun} won the silver spoon at a small fair by the lake.
"""
BULLETS = """
serve it for {use} ; tasted every morning by our cooks ; store in a dry place ;
your {noun} is packed on the day it is made ; two recipes on the back ; from the kitchen of {brand} ;
enjoy within a month after opening
"""
