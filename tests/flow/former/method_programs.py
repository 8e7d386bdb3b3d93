"""Objects of a function's own whose methods change them in branches, in plain Python: those that merge, and traps."""

from dataclasses import dataclass, replace

import numpy as np

GRAVITY, LOG = 9.81, []


class Particle:
    drag = 0.1

    def __init__(self, x, v, bounces=0.0):
        self.x, self.v, self.bounces = x, v, bounces

    def step(self, dt, restitution=0.8):
        """One step of Euler's method."""
        self.v -= (GRAVITY + self.drag * self.v) * dt
        self.x += self.v * dt
        if self.x < 0.0:
            self.bounce(restitution)
        return self.x

    def bounce(self, restitution):
        self.x, self.v = -self.x, -restitution * self.v
        self.bounces += 1

    @property
    def energy(self):
        return 0.5 * self.v**2 + GRAVITY * self.x

    @property
    def phase(self):
        if self.v > 0:
            return 1.0
        return -0.5 * self.v

    def is_above(self, height=0.3):
        return self.x > height

    def moved_by(self, amount):
        self.x = self.x + amount
        self.v = self.v * 0.5 - amount
        return amount


class Falling(Particle):
    def bounce(self, restitution):
        self.v = restitution * 0.1 - self.v


@dataclass(frozen=True)
class State:
    x: float
    v: float

    def moved(self, dt):
        return State(self.x + dt * self.v, self.v)

    def reflected(self, limit):
        if self.x > limit:
            return replace(self, v=-0.9 * self.v)
        return self.moved(0.1)


@dataclass
class Shop:
    stock: float
    cost: float = 0.0

    def sell(self, demand):
        if demand > self.stock:
            sold, self.stock = self.stock, 0.0
            return sold
        if demand < 0:
            return 0.0
        self.stock -= demand
        return demand

    def order(self, level):
        while self.stock < level:
            self.stock += 0.4
            self.cost += 0.1 + 0.2 * level


def distance(a, b):
    d = a.x - b.x
    if d < 0:
        return -d
    return d


# What merges


def bounces(x):
    p = Particle(x[0] ** 2, x[1])
    total = 0.0
    for k in range(5):
        total += p.step(0.1) * x[k]
        if p.is_above() and p.energy > 2.0:
            total += p.energy
    return total + p.bounces * x[5]


def overridden(x):
    p, q = Falling(x[0], x[1]), Particle(x[2], 0.0)
    for v in x:
        p.step(dt=0.1 + 0.05 * abs(v), restitution=0.5)
        q.step(0.1)
        if distance(p, q) > 0.5:
            q.moved_by(0.1 * v)
    return p.energy + p.phase * q.phase


def frozen(x):
    s = State(x[0], x[1])
    for v in x[2:]:
        s = s.moved(0.3)
        s = s.reflected(0.5 + 0.1 * v)
    return s.x * s.v


def shop(x):
    shop, sold = Shop(x[0] ** 2), 0.0
    for v in x[1:]:
        sold += shop.sell(v) - 0.01 * shop.sell(0.3 * v)
        if shop.stock < 0.5:
            shop.order(1.0)
    return sold - shop.cost + shop.stock


def before_it_moves(x):
    p = Particle(x[0], x[1])
    total = 0.0
    for v in x:
        total += p.x * v + p.moved_by(0.5 * v) * p.x + p.step(0.1)
    return total


def its_own_attribute_as_an_argument(x):
    p = Particle(x[0], x[1])
    for v in x:
        p.moved_by(p.x)
        if v > 0.2:
            p.moved_by(p.v)
    return p.x * p.v


def in_comprehensions(x):
    p = Particle(x[0], x[1])
    for v in x[2:]:
        if p.is_above(v):
            p.moved_by(-v)
    return sum([p.energy * v for v in x]) + (p.energy if x[0] > 0 else 0.0)


class __Private:
    """Of names that Python compiles as private ones of the class."""

    def __init__(self, rate):
        self.__rate = rate

    def __slope(self, v):
        if v > 0.2:
            return self.__rate * v
        return -v

    def of_attribute(self, x):
        s = 0.0
        for v in x:
            if v > 0.1:
                s = s + v * self.__rate
            else:
                s = s - v
        return s

    def of_method(self, x):
        return sum(self.__slope(v) for v in x)

    def of_function(self, x):
        def __bent(v):
            if v > 0:
                return v * v
            return self.__rate * v

        return sum(__bent(v) for v in x)


def private_names(x):
    model = __Private(2.0)
    return model.of_attribute(x) + model.of_method(x) * model.of_function(x)


MERGE = [private_names, bounces, overridden, frozen, shop, before_it_moves, its_own_attribute_as_an_argument, in_comprehensions]

# Traps


def other_gravity(x):
    GRAVITY = 1.0
    p = Particle(x[0], x[1])
    for v in x:
        if v > 0.2:
            p.step(0.1)
    return p.x * GRAVITY


def replaced_method(x):
    p, s = Particle(x[0], x[1]), 0.0
    for v in x:
        if v > 0.2:
            s = s + v
        p.moved_by(0.5)
        p.moved_by = lambda amount: amount
    return p.x + p.v * s


class Logged(Particle):
    def moved_by(self, amount):
        LOG.append(amount)
        self.x = self.x + amount
        return len(LOG)

    def itself(self):
        return self

    def keeps(self, box):
        box.append(self)


def logged(x):
    del LOG[:]
    p = Logged(x[0], x[1])
    for v in x:
        if v > 0.2:
            p.moved_by(0.5)
    return p.x * len(LOG)


def by_its_own_name(x):
    p = Logged(x[0], x[1])
    q = p.itself()
    for v in x:
        if v > 0.2:
            p.step(0.1)
        q.x = q.x + 0.1
    return p.x * q.v


def kept_in_a_box(x):
    p, box = Logged(x[0], x[1]), []
    p.keeps(box)
    for v in x:
        if v > 0.2:
            p.step(0.1)
        box[0].x += 0.1
    return p.x


class Doubling(Particle):
    made = 1

    @property
    def v(self):
        return self._v * 2

    @v.setter
    def v(self, value):
        self._v = value

    @classmethod
    def count(cls, v):
        cls.made += 1
        return cls.made * v

    @staticmethod
    def twice(v):
        return 2 * v


def with_a_setter(x):
    p = Doubling(x[0], x[1])
    for v in x:
        if v > 0.2:
            p.step(0.1)
    return p.v


class Classes(Particle):
    made = 1

    @classmethod
    def count(cls, v):
        cls.made += 1
        return cls.made * v

    @staticmethod
    def twice(v):
        return 2 * v


def with_a_class_method(x):
    Classes.made = 1
    p = Classes(x[0], x[1])
    for v in x:
        if v > 0.2:
            p.x = p.count(v) + p.twice(p.x)
    return p.x * Classes.made


def lazily_called(x):
    p = Particle(x[0], x[1])
    later = (p.moved_by(v) for v in x)
    for v in x:
        if v > 0.2:
            p.step(0.1)
    return sum(later) + p.x


def moved_in_a_condition(x):
    p = Particle(x[0], x[1])
    s = 0.0
    for v in x:
        if v > 0.2 and p.moved_by(v) > 0.5:
            s += p.v
        if v < -0.2:
            p.v = 0.1 * v
    return s + p.x


def caught(x):
    p = Particle(x[0], x[1])
    for v in x:
        try:
            if p.moved_by(v) > 0.2:
                raise ValueError
        except ValueError:
            p.x = 0.1 * v
    return p.x * p.v


def two_classes(x):
    p = Particle(x[0], x[1])
    for v in x:
        p.step(0.1)
        if v > 0.5:
            p = Falling(p.x, v)
    return p.x + p.v


def object_before(x):
    p = Particle(x[0], x[1])
    for v in x:
        if np.sum([distance(p, p), p.moved_by(v)]) > 0.2:
            p.v += 0.1
    return p.x * p.v


def named_in_an_argument(x):
    p, s = Particle(x[0], x[1]), x[2]
    if x[1] > 0:
        p.x = p.x + 1.0
    return s + p.moved_by(s := x[3] * p.v) + p.x


TRAPS = [
    other_gravity, replaced_method, logged, by_its_own_name, kept_in_a_box, with_a_setter, with_a_class_method, lazily_called, moved_in_a_condition, caught,
    two_classes, object_before, named_in_an_argument,
]  # fmt: skip
